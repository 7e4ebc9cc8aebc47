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

// How many columns the UTF-8 text takes, one for each code point.
std::size_t columns(std::string_view text);
// At most `limit` columns; what is cut off is replaced with "…".
std::string shortened(std::string_view text, std::size_t limit);

}  // namespace railbed
