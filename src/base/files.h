// Reads and writes whole files that a user names. Neither the content nor what the path leads to is trusted:
// nothing here blocks on a pipe but one that this process was started with, fills the memory from an endless file,
// replaces a device, or follows a link that another user made (base/trusted_path.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "base/trusted_path.h"

namespace railbed {

inline constexpr std::size_t kMaxReadBytes = 64 << 20;

// Reads a regular file of at most `limit` bytes; a longer file is an error. "-", /dev/stdin and /dev/fd/N, which the
// shell's <(…) names, are read to their end whatever they are. A missing file and what is no file are kBadInput,
// any other failure kUnavailable. For root, links of other users are not followed, because what root reads is shown to others. For
// other users the kernel's permissions decide.
Result<std::string> read_file(const std::string& path, std::size_t limit = kMaxReadBytes);

// Opens the named file of any type for reading, or for "-" standard input, with the link rule of read_file().
// Returns an empty Fd on failure, with the reason in errno. `flags` are added to O_RDONLY.
Fd open_named(const std::string& path, int flags = 0);

// Replaces the file atomically: writes a temporary file in the same folder, syncs it, renames it over `path` and
// syncs the folder. After a failure the old file is intact. A link made by root or the caller is followed, and its
// target is replaced. Other file types are never replaced: a pipe, a character device (/dev/null) or one of our own
// descriptors (/dev/stdout, /dev/fd/3) receives the text; anything else is an error. A place that cannot be written
// is kBadInput, a full or broken disk kUnavailable.
Result<void> write_file(const std::string& path, std::string_view text, unsigned mode = 0644);

// The same for a place found earlier with find_entry(). `path` only appears in errors.
Result<std::string> read_file(const FolderEntry& place, const std::string& path, std::size_t limit);
Result<void> write_file(const FolderEntry& place, const std::string& path, std::string_view text,
                        unsigned mode);

// Makes a folder and its missing parents. `mode` applies to the last folder; the parents get 0755.
Result<void> make_folder(const std::string& path, unsigned mode = 0755);

// Checks, without writing, whether write_file() could succeed. Meant for use before minutes are spent on
// producing the text. Success is no guarantee: the disk may be full, for example.
Result<void> check_writable(const std::string& path);

}  // namespace railbed
