// What was seen of a path, for people: a line each.
#pragma once

#include <string>
#include <vector>

#include "bench/path/diagnose.h"

namespace railbed {

std::vector<std::string> path_text(const PathSeen& path);

}  // namespace railbed
