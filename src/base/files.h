// Files that a user names, to be read or written whole. Their content may be anybody's, and so may what is at
// a path: nothing here waits for a pipe, fills the memory from an endless file, replaces a device, or goes
// through a link that another user made (base/trusted_path.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "base/trusted_path.h"

namespace railbed {

inline constexpr std::size_t kMaxReadBytes = 64 << 20;

// Reads a regular file of at most `limit` bytes; a longer one is an error. Root follows no link of another
// user: what it reads is shown to others. Anybody else reads what the kernel allows.
Result<std::string> read_file(const std::string& path, std::size_t limit = kMaxReadBytes);

// Opens for reading what a user names, of whatever kind, by the same rule; errno where it fails. `flags`
// beside O_RDONLY.
Fd open_named(const std::string& path, int flags = 0);

// Writes a temporary file beside `path`, syncs it and renames it: the old file or the whole new one, never
// half. Through a link of root's or ours the file at its end is replaced. What is there and is no regular
// file stays what it is: a pipe or a character device (/dev/null) takes the text, as our own descriptors do
// (/dev/stdout, /dev/fd/3); anything else is an error.
Result<void> write_file(const std::string& path, std::string_view text, unsigned mode = 0644);

// The same at a place that was found already; errors name `path`.
Result<std::string> read_file(const FolderEntry& place, const std::string& path, std::size_t limit);
Result<void> write_file(const FolderEntry& place, const std::string& path, std::string_view text,
                        unsigned mode);

// Makes a folder and those on its way that are not there; `mode` is the last one's.
Result<void> make_folder(const std::string& path, unsigned mode = 0755);

// Whether write_file() could, as far as that can be known without writing: for before minutes are spent on
// the text.
Result<void> check_writable(const std::string& path);

}  // namespace railbed
