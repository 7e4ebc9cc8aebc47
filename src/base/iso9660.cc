#include "base/iso9660.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/text.h"

namespace railbed {
namespace {

constexpr std::uint64_t kSector = 2048;
constexpr std::uint64_t kDescriptorAt = 16 * kSector;
constexpr std::uint64_t kMaxFolder =
    1 << 20;  // of one folder's records; an installer's folders have some kilobytes
constexpr unsigned kFolderFlag = 2;
constexpr unsigned kMoreExtentsFlag = 0x80;
constexpr unsigned kLinkMode = 0120000;
constexpr unsigned kTypeMask = 0170000;

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Reads a little-endian number of four bytes; bytes behind the end count as 0.
std::uint64_t number_at(std::string_view text, std::size_t at) {
  return byte_at(text, at) | byte_at(text, at + 1) << 8 | byte_at(text, at + 2) << 16 |
         static_cast<std::uint64_t>(byte_at(text, at + 3)) << 24;
}

struct IsoRecord {
  IsoFile where;
  bool folder = false;
  bool link = false;
  bool whole = true;   // all of it is in one run of bytes
  std::string name;    // of Rock Ridge, else of ECMA-119 without its version
  bool exact = false;  // the name is Rock Ridge's, where upper and lower case differ
};

// Reads what SUSP has behind the name of a record: Rock Ridge's name, mode and link.
void read_rock_ridge(std::string_view fields, IsoRecord& record) {
  std::string name;
  while (fields.size() >= 4) {
    const std::size_t length = byte_at(fields, 2);
    if (length < 4 || length > fields.size()) break;
    const std::string_view field = fields.substr(0, length);
    const std::string_view kind = field.substr(0, 2);
    if (kind == "NM" && length > 5) name += field.substr(5);
    if (kind == "SL") record.link = true;
    if (kind == "PX" && (number_at(field, 4) & kTypeMask) == kLinkMode) record.link = true;
    fields.remove_prefix(length);
  }
  if (name.empty()) return;
  record.name = name;
  record.exact = true;
}

IsoRecord record_of(std::string_view text) {
  IsoRecord record;
  record.where = {number_at(text, 2) * kSector, number_at(text, 10)};
  const unsigned flags = byte_at(text, 25);
  record.folder = (flags & kFolderFlag) != 0;
  record.whole = (flags & kMoreExtentsFlag) == 0;
  const std::size_t length = byte_at(text, 32);
  const std::string_view name = text.substr(33, length);
  record.name = name.substr(0, name.find(';'));
  if (record.name.ends_with('.')) record.name.pop_back();
  const std::size_t used = 33 + length + (length % 2 == 0 ? 1 : 0);
  if (used < text.size()) read_rock_ridge(text.substr(used), record);
  return record;
}

bool is_named(const IsoRecord& record, std::string_view name) {
  return record.exact ? record.name == name : lower(record.name) == lower(name);
}

// Returns the record of this name in a folder; an empty name if there is none. A record never crosses the border of
// a sector: the rest of one is zeros.
IsoRecord record_named(std::string_view folder, std::string_view name) {
  for (std::size_t at = 0; at < folder.size();) {
    const std::size_t length = byte_at(folder, at);
    if (length < 34) {
      at = (at / kSector + 1) * kSector;
      continue;
    }
    IsoRecord record = record_of(folder.substr(at, length));
    if (is_named(record, name)) return record;
    at += length;
  }
  return {};
}

}  // namespace

Result<IsoImage> IsoImage::open(const std::string& path) {
  IsoImage image;
  image.path_ = path;
  image.file_ = open_named(path, O_NONBLOCK | O_NOCTTY);
  if (!image.file_)
    return fail(errno == EACCES ? ErrorKind::kUnavailable : ErrorKind::kBadInput,
                fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  struct stat status = {};
  if (fstat(image.file_.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail(ErrorKind::kBadInput, fmt::format("{} is not a file", path));
  image.size_ = static_cast<std::uint64_t>(status.st_size);
  const auto descriptor = image.read_at(kDescriptorAt, kSector);
  if (!descriptor || !descriptor->starts_with("\x01"
                                              "CD001"))
    return fail(ErrorKind::kBadInput, fmt::format("{} is no ISO 9660 image", path));
  // The number of blocks, at 80, and their size, at 128 (ECMA-119, 8.4.8 and 8.4.12).
  const std::uint64_t whole = number_at(*descriptor, 80) * (number_at(*descriptor, 128) & 0xffff);
  if (whole > image.size_)
    return fail(ErrorKind::kBadInput,
                fmt::format("{} is cut short: it has {} of {} bytes", path, image.size_, whole));
  image.label_ = std::string(trim(std::string_view(*descriptor).substr(40, 32)));
  image.modified_ = descriptor->substr(830, 16);
  image.root_ = record_of(std::string_view(*descriptor).substr(156, 34)).where;
  return image;
}

Result<std::string> IsoImage::read_at(std::uint64_t at, std::size_t size) const {
  if (at > size_ || size > size_ - at)
    return fail(ErrorKind::kBadInput,
                fmt::format("{} is cut short: something in it lies behind its end", path_));
  std::string text(size, '\0');
  for (std::size_t have = 0; have < size;) {
    const ssize_t got = pread(file_.get(), text.data() + have, size - have, static_cast<off_t>(at + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return fail(ErrorKind::kUnavailable, fmt::format("cannot read {}: {}", path_,
                                                       got < 0 ? std::strerror(errno) : "it became shorter"));
    have += static_cast<std::size_t>(got);
  }
  return text;
}

Result<IsoFile> IsoImage::find(std::string_view path) const {
  IsoFile folder = root_;
  const auto steps = split(path.substr(path.starts_with('/') ? 1 : 0), '/');
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (folder.size > kMaxFolder)
      return fail(ErrorKind::kBadInput, fmt::format("a folder in {} is larger than railbed reads", path_));
    ASSIGN_OR_RETURN(const std::string records, read_at(folder.at, static_cast<std::size_t>(folder.size)));
    const IsoRecord record = record_named(records, steps[i]);
    if (record.name.empty())
      return fail(ErrorKind::kBadInput, fmt::format("{} does not hold {}", path_, path));
    if (record.link || !record.whole || record.folder != (i + 1 < steps.size()))
      return fail(ErrorKind::kBadInput, fmt::format("{} in {} is not a regular file", path, path_));
    folder = record.where;
  }
  if (folder.at > size_ || folder.size > size_ - folder.at)
    return fail(ErrorKind::kBadInput, fmt::format("{} is cut short: {} lies behind its end", path_, path));
  return folder;
}

Result<std::string> IsoImage::read(std::string_view path, std::size_t limit) const {
  ASSIGN_OR_RETURN(const IsoFile file, find(path));
  if (file.size > limit)
    return fail(ErrorKind::kBadInput,
                fmt::format("{} in {} has {} bytes, more than the {} that such a file may have", path, path_,
                            file.size, limit));
  return read_at(file.at, static_cast<std::size_t>(file.size));
}

Result<void> IsoImage::pass(const IsoFile& file, const std::function<bool(std::string_view)>& take) const {
  constexpr std::uint64_t kPiece = 1 << 20;
  for (std::uint64_t done = 0; done < file.size;) {
    const std::uint64_t size = std::min(kPiece, file.size - done);
    ASSIGN_OR_RETURN(const std::string piece, read_at(file.at + done, static_cast<std::size_t>(size)));
    if (!take(piece)) return {};
    done += size;
  }
  return {};
}

}  // namespace railbed
