// Many host names on one line, as Slurm and cluster.yaml write them.
#pragma once

#include <string>
#include <vector>

namespace railbed {

// Returns {"gpu001", "gpu002", "gpu003", "login"} as "gpu[001-003], login". Duplicates are named once.
// Numbers are in order, prefixes in the order of their first appearance.
std::string fold_hosts(const std::vector<std::string>& hosts);

// Returns fold_hosts(), or "77 nodes (gpu0009 first)" if that would exceed a line, unless `whole`.
std::string listed_hosts(const std::vector<std::string>& hosts, bool whole = false);

}  // namespace railbed
