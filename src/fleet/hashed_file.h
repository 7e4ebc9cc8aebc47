// The hash and size of a program that may be sent to nodes. To read and hash twenty megabytes takes a tenth
// of a second, while no node can be asked yet, so the hashes of the last time are kept. They count for a file
// as long as its device, inode, size and both times are what they were; whoever can write the file of hashes
// can start programs as this user anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/fields.h"
#include "base/result.h"

namespace railbed::fleet {

inline constexpr std::size_t kMaxProgram = 1 << 30;

struct HashedFile {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  // st_mtim and st_ctim, since 1970
  std::int64_t changed_ns = 0;
  std::string hash;  // SHA-256, 64 hexadecimal digits

  bool operator==(const HashedFile&) const = default;
  FIELDS(HashedFile, device, inode, size, modified_ns, changed_ns, hash);
};

// Path → what it was when it was hashed.
using HashedFiles = std::map<std::string, HashedFile>;

// What is kept in the file `path`; nothing where it is missing or makes no sense.
HashedFiles read_hashed_files(const std::string& path);

// As `known` has it if the file did not change since, else by reading it. kBadInput: it cannot be read.
Result<HashedFile> hash_file(const std::string& path, const HashedFiles& known);

// Keeps `files` in the file `path`, 0600, in a folder that is made where it is missing; a failure costs no
// more than the time to hash again. What changed within the last seconds is left out: it may change once more
// without any time telling.
void keep_hashed_files(const HashedFiles& files, const std::string& path);

// $XDG_CACHE_HOME/railbed/agent-hashes.json, else ~/.cache/railbed/agent-hashes.json; empty without a home.
std::string default_hashes_path();

}  // namespace railbed::fleet
