#pragma once

#include <string>
#include <vector>

#include "base/reading.h"

namespace railbed {

// The path of the first of `files` that the loader opens, in a child process: what a library does while it is
// opened harms nobody else. Absent, in the loader's words, where it opens none.
Reading<std::string> find_library(const std::vector<std::string>& files);

}  // namespace railbed
