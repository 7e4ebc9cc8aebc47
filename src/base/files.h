// Files that a user names, to be read or written whole. Their content may be anybody's, and so may what lies
// at a path: nothing here waits for a pipe, fills the memory from an endless file, or replaces a device.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

inline constexpr std::size_t kMaxReadBytes = 64 << 20;

// Of a regular file, at most `limit` bytes; a longer one is an error.
Result<std::string> read_file(const std::string& path, std::size_t limit = kMaxReadBytes);

// Writes a temporary file beside `path`, syncs it and renames it: the old file or the whole new one, never
// half. Through a link the file at its end is replaced. What is there and is no regular file stays what it
// is: a pipe or a character device (/dev/stdout, /dev/null) takes the text, anything else is an error.
Result<void> write_file(const std::string& path, std::string_view text, unsigned mode = 0644);

// Whether write_file() could, as far as that can be told without writing: asked before minutes are spent on
// what is to be written.
Result<void> check_writable(const std::string& path);

}  // namespace railbed
