// The files that people send in place of a machine, read into memory: an archive, a log, or a folder of
// outputs. All of it is untrusted. Reading writes nothing, and reads nothing outside the archive or folder.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace railbed {

struct SentFile {
  std::string content;
  double modified = 0;  // Unix seconds, by an archive that was made on the machine; 0 if unknown
};

// A file, or a part of one, whose content becomes no fact.
struct Unread {
  std::string path;
  std::string why;  // "not text"
};

// Files and links by their paths, without a leading slash: "sos_commands/pci/lspci_-nnvv". A link is kept as
// its target and never followed here.
struct Sent {
  std::map<std::string, SentFile, std::less<>> files;
  std::map<std::string, std::string, std::less<>> links;
  std::vector<Unread> unread;  // files of a folder that could not be kept
};

// Limits beyond which an archive is too large to be a support report.
struct SentLimits {
  std::size_t unpacked = std::size_t{1} << 30;  // bytes unpacked in all
  std::size_t ratio = 400;                      // of unpacked to packed bytes, checked from 64 MiB on
  std::size_t kept = std::size_t{64} << 20;     // bytes kept
  std::size_t file = std::size_t{8} << 20;      // larger files, such as the logs of a week, are left out
  std::size_t entries = 200'000;                // a sosreport of a large machine has some fifty thousand
  std::size_t path = 4096;
  std::size_t depth = 64;
};

// Reads a tar archive or a single file, packed with xz, gzip or not at all. Devices, pipes and files that no
// report needs are left out. An archive that is truncated, too large, or has a path outside itself is an
// error as a whole.
Result<Sent> read_archive(const std::string& file, const SentLimits& limits = {});
// The same for bytes in memory. `name` is used in error messages.
Result<Sent> read_archive_bytes(std::string_view bytes, const std::string& name,
                                const SentLimits& limits = {});
inline constexpr std::string_view kSingleFile = "log";  // path of a file without an archive around it

// Reads a folder; links in it are not followed. Leaves out files that `is_other` accepts, by their full path.
Result<Sent> read_sent_folder(const std::string& folder, const SentLimits& limits,
                              const std::function<bool(const std::string& path)>& is_other);

enum class SentKind {
  kPacked,  // a tar archive, or packed with gzip or xz
  kTree,    // a tree that `railbed capture` wrote (host/tree.h)
  kText,    // anything else, also a file that cannot be read
};
// Returns the kind of a file by its first bytes.
SentKind kind_of(const std::string& file);

}  // namespace railbed
