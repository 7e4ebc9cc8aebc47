// Outputs of a subnet's tools that no rule judges: each is named, with what it shows and what would be judged.
#pragma once

#include <string>
#include <string_view>

namespace railbed {

// Returns what a text is, in a line; empty for a text of no such tool. A text that parse_port_report(),
// parse_counter_list() or parse_fabric_file() reads is to be given to those first.
std::string named_fabric_text(std::string_view text);

// Returns a text with empty lines for what ibswinfo cannot know of a switch's power supplies: all of them where none is
// OK, for the switch responds, or where it could not read the firmware's version; and the fan of a supply that is ERROR.
std::string without_unknown_supplies(std::string_view text);

}  // namespace railbed
