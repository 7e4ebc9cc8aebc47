// Checks whether a user may look at a path, so that a path without permission is never called missing or empty.
#pragma once

#include <string>

#include "base/result.h"

namespace railbed {

// Succeeds if the path leads to something that is no folder, or to a folder that can be listed. A missing path is
// kBadInput, one that this user may not look at kUnavailable. Whether a file can be read shows when it is opened.
Result<void> check_reachable(const std::string& path);

// Returns why the folder cannot be listed; empty if it can.
std::string why_not_listed(const std::string& folder);

}  // namespace railbed
