// The user's cache folder (XDG Base Directory Specification).
#pragma once

#include <filesystem>

namespace railbed {

// Returns $XDG_CACHE_HOME/railbed, else ~/.cache/railbed; empty if neither variable holds an absolute path.
// Does not create the folder.
std::filesystem::path cache_folder();

}  // namespace railbed
