// Files that commands write for the user, and the time they write into them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

// Writes a temporary file beside `path`, syncs it and renames it: the old file or the whole new one, never
// half.
Result<void> write_file(const std::string& path, std::string_view text, unsigned mode = 0644);
Result<std::string> read_file(const std::string& path);

// RFC 3339, UTC, seconds: "2026-01-19T10:00:00Z".
std::string utc_now();

}  // namespace railbed
