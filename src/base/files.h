// Files that are read and written for the user.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

// Writes a temporary file beside `path`, syncs it and renames it: the old file or the whole new one, never
// half.
Result<void> write_file(const std::string& path, std::string_view text, unsigned mode = 0644);
Result<std::string> read_file(const std::string& path);

}  // namespace railbed
