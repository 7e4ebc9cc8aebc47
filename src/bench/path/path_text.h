// Returns the observations of a path as text for users: one line for each end, RDMA device and direction.
#pragma once

#include <string>
#include <vector>

#include "bench/path/judge_path.h"

namespace railbed {

std::vector<std::string> path_text(const PathSeen& path);

}  // namespace railbed
