// The live page: one document that loads nothing from elsewhere. Its content comes as data and is inserted as
// text. Only the picture of the cluster comes as markup, which report/page/html.h has escaped.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace railbed {

// Returns the HTML document, with style and script inside.
std::string live_page();
// Returns the HTTP headers of the page. The content security policy permits only the page's own script, by
// its digest, and connections to this service.
std::vector<std::pair<std::string, std::string>> live_headers();

}  // namespace railbed
