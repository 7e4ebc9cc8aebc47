// The live page: one document that needs nothing but this service. What it shows comes as data and is put in
// as text; only the cluster's picture comes as markup, which report/html.h escaped.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace railbed {

std::string live_page();
// The policy under which the page runs: its own script by digest, and no connection but to this service.
std::vector<std::pair<std::string, std::string>> live_headers();

}  // namespace railbed
