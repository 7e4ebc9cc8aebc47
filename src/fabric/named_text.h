// Outputs of a subnet's tools that no rule judges: each is named, with what it shows and what would be judged.
#pragma once

#include <string>
#include <string_view>

namespace railbed {

// Returns what a text is, in a line; empty for a text of no such tool. A text that parse_port_report(),
// parse_counter_list() or parse_fabric_file() reads is to be given to those first.
std::string named_fabric_text(std::string_view text);

}  // namespace railbed
