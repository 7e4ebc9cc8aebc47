// Reader and writer of ibnetdiscover's own format. A subnet's dump and its plan are such files: every site
// has the tool that writes them, ibsim plays them, and a difference between two can be read line by line.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fabric/subnet.h"

namespace railbed {

// Parses a dump. An error lists what is wrong, each with its line; `file` is the name to show.
Result<IbFabric> parse_topology(std::string_view text, std::string_view file);

// Returns the subnet in this format. A description that holds line ends or quotes cannot break a line.
std::string topology_text(const IbFabric& fabric);

}  // namespace railbed
