// Where this user's caches are (XDG Base Directory Specification).
#pragma once

#include <filesystem>

namespace railbed {

// $XDG_CACHE_HOME/railbed, else ~/.cache/railbed; not made here. Empty: neither names a place.
std::filesystem::path cache_folder();

}  // namespace railbed
