// Hashes and sizes of programs that may be sent to nodes. Reading and hashing twenty megabytes takes a tenth
// of a second, during which no node can be called, so the hashes are saved. A saved hash is valid while the
// file's device, inode, size and both times are unchanged. A user who can write the file of hashes could
// start programs as this user anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/fields.h"
#include "base/result.h"

namespace railbed::fleet {

inline constexpr std::size_t kMaxProgram = 1 << 30;

// A file at the time when it was hashed.
struct HashedFile {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  // st_mtim and st_ctim, in ns since 1970
  std::int64_t changed_ns = 0;
  std::string hash;  // SHA-256, 64 hexadecimal digits

  bool operator==(const HashedFile&) const = default;
  FIELDS(HashedFile, device, inode, size, modified_ns, changed_ns, hash);
};

// The path of each file → its state when it was hashed.
using HashedFiles = std::map<std::string, HashedFile>;

// Reads the hashes from the file `path`; empty if it is missing or invalid, or if another user could have
// written it.
HashedFiles read_hashed_files(const std::string& path);

// Returns the entry of `known` if the file is unchanged; otherwise hashes the file. Fails with kBadInput if
// it cannot be read, or changes meanwhile.
Result<HashedFile> hash_file(const std::string& path, const HashedFiles& known);

// Saves `files` in the file `path` (mode 0600), and creates its folder if needed. A failure is ignored,
// because it costs only the time to hash again. A file that changed within the last two seconds is left out:
// it may change again without a different time stamp.
void keep_hashed_files(const HashedFiles& files, const std::string& path);

// Returns $XDG_CACHE_HOME/railbed/agent-hashes.json, or ~/.cache/railbed/agent-hashes.json; empty without a
// home folder.
std::string default_hashes_path();

}  // namespace railbed::fleet
