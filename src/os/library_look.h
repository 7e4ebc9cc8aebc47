#pragma once

#include <string>
#include <vector>

#include "base/reading.h"

namespace railbed {

// Returns the path of the first of `files` that the loader can open. Opens it in a child process, so that the
// library's initialization cannot harm this one. Absent, with the loader's message, if none can be opened.
Reading<std::string> find_library(const std::vector<std::string>& files);

}  // namespace railbed
