// Many host names on one line of a report.
#pragma once

#include <string>
#include <vector>

namespace railbed {

// Returns fold_hosts() of inventory/hostlist.h, or "77 nodes (gpu0009 first)" if that would exceed a line, unless
// `whole`.
std::string listed_hosts(const std::vector<std::string>& hosts, bool whole = false);

}  // namespace railbed
