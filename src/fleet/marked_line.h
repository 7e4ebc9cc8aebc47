// Lines that a program prints by a format of ours, among text that others wrote.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace railbed::fleet {

// "NONCE|a|b|rest, with | in it" → {a, b, rest}; empty for a line that does not begin with the nonce, which
// nobody could know who wrote a value, or that has fewer fields.
std::vector<std::string_view> marked_fields(std::string_view line, std::string_view nonce, std::size_t count);

}  // namespace railbed::fleet
