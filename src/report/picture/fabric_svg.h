// A subnet as people draw it: spines above, leaves below them, each leaf's HCAs in a column below it.
#pragma once

#include <string>

#include "fabric/subnet.h"

namespace railbed {

// Returns an SVG document of its own.
std::string fabric_svg(const IbFabric& fabric);

}  // namespace railbed
