// Text from nodes is untrusted: every renderer passes it through here, or through printable() of base/text.h,
// before it reaches a terminal, an XML parser, a browser or a metrics file.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace railbed {

// printable(), with & < > " ' as entities: safe as content and as a quoted attribute in XML 1.0 and in HTML.
std::string escape_markup(std::string_view text);

// A label value of the Prometheus text format: printable(), with \ and " escaped.
std::string escape_label(std::string_view text);

// Returns the number of columns of a UTF-8 text, one for each code point.
std::size_t columns(std::string_view text);
// Cuts the text to at most `limit` columns; "…" replaces the rest.
std::string shortened(std::string_view text, std::size_t limit);

}  // namespace railbed
