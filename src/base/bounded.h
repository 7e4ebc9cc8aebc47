// Size limits for text from outside, checked before the text is parsed or stored.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railbed {

// Returns `text`; if it is longer than `bytes`, its first `bytes` bytes, cut between UTF-8 characters, and
// "…".
std::string cut_to(std::string_view text, std::size_t bytes);

// Returns the size in bytes of the longest string in a JSON document, with its escapes as written and without
// its quotes. For text that is not JSON the result is some number up to the document's size.
std::size_t longest_string(std::string_view json);

}  // namespace railbed
