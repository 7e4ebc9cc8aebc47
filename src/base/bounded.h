// Bounds for text that comes from elsewhere, looked at before anything is made of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railbed {

// The text; of a longer one its first bytes, by whole characters, and "…".
std::string cut_to(std::string_view text, std::size_t bytes);

// The bytes of the longest string in a JSON document, as they are written there. Of what is no JSON it is any
// number up to the document's size.
std::size_t longest_string(std::string_view json);

}  // namespace railbed
