// Many host names on one line, as Slurm and cluster.yaml write them.
#pragma once

#include <string>
#include <vector>

namespace railbed {

// {"gpu001", "gpu002", "gpu003", "login"} → "gpu[001-003], login". Doubles are named once; numbers are in
// order, prefixes in order of first appearance.
std::string fold_hosts(const std::vector<std::string>& hosts);

}  // namespace railbed
