// Lines in a format that railbed requested, among text that others wrote.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace railbed::fleet {

// Splits a line: "NONCE|a|b|rest, with | in it" → {a, b, rest}. Returns an empty list if the line does not
// start with the nonce, which the author of a value cannot know, or if it has fewer fields.
std::vector<std::string_view> marked_fields(std::string_view line, std::string_view nonce, std::size_t count);

}  // namespace railbed::fleet
