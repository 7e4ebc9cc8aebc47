// Reads archives through libarchive (docs/decisions/0015-support-reports.md): the tar format and a single
// file, with the filters of xz and gzip. The archive is read once, from beginning to end, and every limit is
// checked before more is unpacked.
#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/files.h"
#include "base/text.h"
#include "host/support/intake.h"

namespace railbed {
namespace {

constexpr std::size_t kBlock = 64 << 10;
constexpr std::size_t kJudgedFrom = std::size_t{64} << 20;  // below it no ratio is suspicious
constexpr int kMostFilters = 2;  // xz or gzip, and libarchive's own "none" below it

struct FreeArchive {
  void operator()(archive* one) const { archive_read_free(one); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

tl::unexpected<Error> bad(const std::string& file, std::string_view why) {
  return fail(ErrorKind::kBadInput, file + ": " + printable(why));
}

std::string words_of(archive* from) {
  const char* words = archive_error_string(from);
  return words == nullptr ? "not understood" : words;
}

class Unpacking {
 public:
  Unpacking(const std::string& file, const SentLimits& limits) : file_(file), limits_(limits) {}

  Result<void> open() {
    prepare();
    opened_ = open_named(file_);
    if (!opened_) return bad(file_, std::strerror(errno));
    if (archive_read_open_fd(archive_.get(), opened_.get(), kBlock) != ARCHIVE_OK) return broken();
    return {};
  }
  Result<void> open(std::string_view bytes) {
    prepare();
    if (archive_read_open_memory(archive_.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return broken();
    return {};
  }

  // Returns the next entry; null at the end.
  Result<archive_entry*> next() {
    archive_entry* entry = nullptr;
    const int got = archive_read_next_header(archive_.get(), &entry);
    if (archive_filter_count(archive_.get()) > kMostFilters)
      return bad(file_, "it is packed twice; unpack it once");
    if (got == ARCHIVE_EOF) return nullptr;
    if (got < ARCHIVE_WARN) return broken();
    RETURN_IF_ERROR(check());
    return entry;
  }

  bool is_single_file() const { return archive_format(archive_.get()) == ARCHIVE_FORMAT_RAW; }

  // Unpacks the rest of the entry piece by piece, with checks: libarchive's own skip would not be bounded.
  Result<void> skip() {
    const void* piece = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    for (;;) {
      const int got = archive_read_data_block(archive_.get(), &piece, &size, &offset);
      if (got == ARCHIVE_EOF) return {};
      if (got < ARCHIVE_WARN) return broken();
      if (auto within = check(); !within) return within;
    }
  }

  // Returns the entry's bytes; nullopt if there are more than `most`.
  Result<std::optional<std::string>> content(std::size_t most) {
    std::string text;
    std::array<char, kBlock> piece;
    for (;;) {
      const la_ssize_t got = archive_read_data(archive_.get(), piece.data(), piece.size());
      if (got < 0) return broken();
      given_ += static_cast<std::size_t>(got);
      RETURN_IF_ERROR(check());
      if (got == 0) return std::optional(std::move(text));
      if (text.size() + static_cast<std::size_t>(got) > most) return std::optional<std::string>();
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
  }

  tl::unexpected<Error> broken() const {
    return bad(file_, fmt::format("cannot be unpacked: {}; was it sent whole?", words_of(archive_.get())));
  }

 private:
  void prepare() {
    archive* one = archive_.get();
    archive_read_support_filter_gzip(one);
    archive_read_support_filter_xz(one);
    archive_read_support_format_tar(one);
    archive_read_support_format_raw(one);  // tried last
  }

  Result<void> check() const {
    const auto packed =
        static_cast<std::size_t>(std::max<la_int64_t>(archive_filter_bytes(archive_.get(), -1), 1));
    const auto unpacked = std::max(
        given_, static_cast<std::size_t>(std::max<la_int64_t>(archive_filter_bytes(archive_.get(), 0), 0)));
    if (unpacked > limits_.unpacked)
      return bad(file_, fmt::format("unpacks to more than {} MiB: too large for a support report",
                                    limits_.unpacked >> 20));
    if (unpacked > kJudgedFrom && unpacked / packed > limits_.ratio)
      return bad(file_, fmt::format("unpacks to more than {} times its size: no support report does",
                                    limits_.ratio));
    return {};
  }

  const std::string& file_;
  const SentLimits& limits_;
  Fd opened_;  // in use until the archive is freed
  Archive archive_{archive_read_new()};
  std::size_t given_ = 0;  // bytes of contents: holes of sparse files take no space in the archive
};

Result<void> take(Unpacking& unpacking, archive_entry* entry, Intake& intake) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) return intake.refuse("an entry has no name that can be read");
  ASSIGN_OR_RETURN(const auto path, intake.path(name));
  if (!is_part_of_a_report(path)) return {};
  const char* target = archive_entry_symlink(entry);
  if (target == nullptr) target = archive_entry_hardlink(entry);
  if (target != nullptr) return intake.link(path, target);
  if (archive_entry_filetype(entry) != AE_IFREG) return {};
  ASSIGN_OR_RETURN(auto content, unpacking.content(intake.largest()));
  if (!content) return {};
  return intake.file(path, {std::move(*content), static_cast<double>(archive_entry_mtime(entry))});
}

Result<void> take_single(Unpacking& unpacking, Intake& intake) {
  ASSIGN_OR_RETURN(auto content, unpacking.content(intake.largest_single()));
  if (!content) return intake.refuse("holds a file too large for a support report");
  return intake.file(std::string(kSingleFile), {std::move(*content), 0});
}

Result<Sent> take_all(Unpacking& unpacking, Intake& intake) {
  for (;;) {
    ASSIGN_OR_RETURN(auto entry, unpacking.next());
    if (entry == nullptr) return std::move(intake).sent();
    const bool single = unpacking.is_single_file();
    RETURN_IF_ERROR(single ? take_single(unpacking, intake) : take(unpacking, entry, intake));
    RETURN_IF_ERROR(unpacking.skip());
  }
}

}  // namespace

Result<Sent> read_archive(const std::string& file, const SentLimits& limits) {
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error) && std::filesystem::file_size(file, error) == 0)
    return fail(ErrorKind::kBadInput, file + ": is empty");
  Unpacking unpacking(file, limits);
  RETURN_IF_ERROR(unpacking.open());
  Intake intake(file, limits);
  return take_all(unpacking, intake);
}

Result<Sent> read_archive_bytes(std::string_view bytes, const std::string& name, const SentLimits& limits) {
  Unpacking unpacking(name, limits);
  RETURN_IF_ERROR(unpacking.open(bytes));
  Intake intake(name, limits);
  return take_all(unpacking, intake);
}

}  // namespace railbed
