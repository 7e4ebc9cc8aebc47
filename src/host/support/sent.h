// What people send in place of a machine, read into memory: an archive, a log, or a folder of outputs. All of
// it is untrusted. Nothing is written anywhere, and nothing outside is read.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

struct SentFile {
  std::string content;
  double modified = 0;  // Unix seconds: when a report's file was written; 0 where it is not known
};

// By paths without a first slash, such as "sos_commands/pci/lspci_-nnvv". A link is kept as its target and
// never followed here.
struct Sent {
  std::map<std::string, SentFile, std::less<>> files;
  std::map<std::string, std::string, std::less<>> links;
};

// What makes an archive too large to be a support report.
struct SentLimits {
  std::size_t unpacked = std::size_t{1} << 30;  // bytes, of all that is unpacked on the way
  std::size_t ratio = 400;                      // of unpacked to packed, once there is something to judge by
  std::size_t kept = std::size_t{64} << 20;     // bytes that are kept
  std::size_t file = std::size_t{8} << 20;      // a larger file is left out, as logs of a week are
  std::size_t entries = 200'000;                // a sosreport of a large machine has some fifty thousand
  std::size_t path = 4096;
  std::size_t depth = 64;
};

// A tar archive or a single file, packed with xz, gzip or not at all. Devices, pipes and what no report needs
// are left out. An archive that is cut off, too large, or that names a path outside of itself is an error as
// a whole.
Result<Sent> read_archive(const std::string& file, const SentLimits& limits = {});
// The same of bytes; `name` stands in complaints.
Result<Sent> read_archive_bytes(std::string_view bytes, const std::string& name,
                                const SentLimits& limits = {});
inline constexpr std::string_view kSingleFile = "log";  // its path, where there is no archive around it

// A folder, links in it not followed.
Result<Sent> read_sent_folder(const std::string& folder, const SentLimits& limits = {});

// Whether a file begins as an archive or a packed file does.
bool is_packed(const std::string& file);

}  // namespace railbed
