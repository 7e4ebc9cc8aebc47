// Many host names on one line, as Slurm and cluster.yaml write them.
#pragma once

#include <string>
#include <vector>

namespace railbed {

// {"gpu001", "gpu002", "gpu003", "login"} → "gpu[001-003], login". Doubles are named once; numbers are in
// order, prefixes in order of first appearance.
std::string fold_hosts(const std::vector<std::string>& hosts);

// fold_hosts(), or "77 nodes (gpu0009 first)" where that would take more than a line and `whole` is not asked
// for.
std::string listed_hosts(const std::vector<std::string>& hosts, bool whole = false);

}  // namespace railbed
