// ibnetdiscover's own format, both ways. A subnet's dump and its plan are such files: every site has the tool
// that writes them, ibsim plays them, and a difference between two is read line by line.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fabric/subnet.h"

namespace railbed {

// A dump, or complaints with the line that each is of; `file` is the name to show.
Result<IbFabric> parse_topology(std::string_view text, std::string_view file);

// Whatever a node calls itself, a line stays a line.
std::string topology_text(const IbFabric& fabric);

}  // namespace railbed
