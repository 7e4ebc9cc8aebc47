// A subnet as people draw it: spines above, leaves below them, each leaf's HCAs in a column below it. Findings are
// marked where they are, by shape and color, with the number under which they are listed below the picture. Links
// between switches of one level are arcs: those of a dragonfly's groups, and between its groups.
//
// A subnet of many switches is folded: switches of a level with the same neighbours above, or of one group, are one
// box, and all cables between two boxes are one line. A switch with a finding, or with the subnet manager, stays a
// box of its own, up to a limit.
#pragma once

#include <string>

#include "fabric/fabric_view.h"
#include "fabric/subnet.h"
#include "verify/findings.h"

namespace railbed {

// Returns an SVG document of its own. Everything that nodes say is escaped.
std::string fabric_svg(const IbFabric& fabric);
// The same with findings (those of verify_fabric() on this view), and with planned cables that are not there.
std::string fabric_svg(const FabricView& view, const Findings& findings);

}  // namespace railbed
