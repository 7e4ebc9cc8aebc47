#include "host/support/intake.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "base/files.h"
#include "base/readable.h"
#include "base/text.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

// A sosreport also holds the logs of a week and files that describe the report itself.
constexpr std::string_view kUnwanted[] = {"var/",         "home/",        "root/",        "sos_logs/",
                                          "sos_reports/", "sos_strings/", "opt/",         "usr/share/",
                                          "etc/selinux/", "etc/pki/",     "proc/kallsyms"};
// Plug-ins of sos whose outputs are read; the others hold packages, logs and output of services.
// `general` is that of sos before 3.6, `rdma` that of NVIDIA's sos of DOCA.
constexpr std::string_view kPlugins[] = {
    "pci",     "nvidia", "infiniband", "networking", "kernel",  "host",    "processor", "numa",
    "systemd", "date",   "memory",     "hardware",   "release", "general", "ipmitool",  "mellanox_firmware",
    "rdma"};

// Returns true for the journal since the boot: the kernel's buffer may have lost its beginning. The other journals are of
// earlier boots.
bool is_journal_of_boot(std::string_view path) {
  return path.starts_with("sos_commands/logs/journalctl_") && path.ends_with("--boot");
}

// Removes the archive's own folder, such as "sosreport-gpu01-2026-01-19-abcdefg/", from a path.
std::string_view without_top(std::string_view path) {
  const auto slash = path.find('/');
  const auto top = path.substr(0, slash);
  const bool is_top = slash != std::string_view::npos && top.starts_with("sosreport-");
  return is_top ? path.substr(slash + 1) : path;
}

Result<void> take_file(const fs::path& path, const std::string& kept, Intake& intake) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode))
    if (const std::string why = why_not_listed(path.string()); !why.empty()) intake.leave_out(kept, why);
  if (!S_ISREG(status.st_mode)) return {};
  auto content = read_file(path.string(), intake.largest());
  if (!content) {  // an unreadable file does not affect the others
    const bool large = static_cast<std::size_t>(status.st_size) > intake.largest();
    intake.leave_out(kept, large ? fmt::format("larger than {} MiB", intake.largest() >> 20)
                                 : std::move(content.error().text));
    return {};
  }
  // Small ones may be copies of a machine's files, and what they are is found out later.
  constexpr std::size_t kLargestBinary = std::size_t{1} << 20;
  if (content->size() > kLargestBinary && !is_text(*content)) {
    intake.leave_out(kept, std::string(kNotText));
    return {};
  }
  return intake.file(kept, {std::move(*content), 0});  // a copy has a time of its own
}

Result<void> take_entry(const fs::directory_entry& entry, const fs::path& folder, Intake& intake) {
  std::error_code error;
  ASSIGN_OR_RETURN(auto path, intake.path(entry.path().lexically_relative(folder).string()));
  if (!is_part_of_a_report(path)) return {};
  if (entry.is_symlink(error)) return intake.link(path, fs::read_symlink(entry.path(), error).string());
  return take_file(entry.path(), path, intake);
}

}  // namespace

bool is_text(std::string_view content) {
  constexpr std::size_t kHead = 4096;
  return content.substr(0, kHead).find('\0') == content.npos;
}

bool is_part_of_a_report(std::string_view path) {
  path = without_top(path);
  const auto begins = [&](std::string_view start) { return path.starts_with(start); };
  if (std::ranges::any_of(kUnwanted, begins)) return false;
  constexpr std::string_view kCommands = "sos_commands/";
  if (!path.starts_with(kCommands)) return true;
  const auto plugin = path.substr(kCommands.size(), path.find('/', kCommands.size()) - kCommands.size());
  return std::ranges::find(kPlugins, plugin) != std::end(kPlugins) || is_journal_of_boot(path);
}

tl::unexpected<Error> Intake::refuse(std::string_view why) const {
  return fail(ErrorKind::kBadInput, from_ + ": " + std::string(why));
}

Result<std::string> Intake::path(std::string_view name) {
  if (++entries_ > limits_.entries)
    return refuse(fmt::format("holds more than {} entries: too many for a support report", limits_.entries));
  if (name.size() > limits_.path)
    return refuse(fmt::format("has a path of more than {} bytes", limits_.path));
  const std::string shown = printable(name.substr(0, 80));
  if (name.starts_with('/'))
    return refuse(fmt::format("names a path outside of itself: \"{}\"; nothing of it is read", shown));
  std::string path;
  std::size_t depth = 0;
  for (const auto piece : split(name, '/')) {
    if (piece.empty() || piece == ".") continue;
    if (piece == "..")
      return refuse(fmt::format("names a path outside of itself: \"{}\"; nothing of it is read", shown));
    if (++depth > limits_.depth) return refuse(fmt::format("nests more than {} folders", limits_.depth));
    path += (path.empty() ? "" : "/") + std::string(piece);
  }
  return path;
}

Result<void> Intake::count(std::size_t bytes) {
  kept_ += bytes;
  if (kept_ <= limits_.kept) return {};
  return refuse(fmt::format("holds more than {} MiB that a support report is made of", limits_.kept >> 20));
}

Result<void> Intake::file(const std::string& path, SentFile file) {
  if (path.empty()) return {};
  if (auto within = count(path.size() + file.content.size()); !within) return within;
  sent_.files.insert_or_assign(path, std::move(file));
  return {};
}

Result<void> Intake::link(const std::string& path, std::string target) {
  if (path.empty() || target.empty() || target.size() > limits_.path) return {};
  if (auto within = count(path.size() + target.size()); !within) return within;
  sent_.links.insert_or_assign(path, std::move(target));
  return {};
}

Result<Sent> read_sent_folder(const std::string& folder, const SentLimits& limits,
                              const std::function<bool(const std::string& path)>& is_other) {
  Intake intake(folder, limits);
  std::error_code error;
  auto each = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && each != fs::recursive_directory_iterator(); each.increment(error)) {
    if (!is_other(each->path().string()))
      RETURN_IF_ERROR(take_entry(*each, folder, intake));
    else if (each->is_directory(error))
      each.disable_recursion_pending();
  }
  if (error) return fail(ErrorKind::kUnavailable, folder + ": " + error.message());
  return std::move(intake).sent();
}

SentKind kind_of(const std::string& file) {
  constexpr std::size_t kMagicAt = 257;  // of a tar archive, in its first block
  constexpr std::string_view kXz(
      "\xfd"
      "7zXZ\0",
      6);
  const Fd fd = open_named(file, O_NONBLOCK);
  std::array<char, 512> block{};
  const ssize_t got = fd ? read(fd.get(), block.data(), block.size()) : -1;
  const std::string_view text(block.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (text.starts_with("railbed-tree ")) return SentKind::kTree;
  if (text.starts_with("\x1f\x8b") || text.starts_with(kXz)) return SentKind::kPacked;
  const bool tar = text.size() > kMagicAt && text.substr(kMagicAt).starts_with("ustar");
  return tar ? SentKind::kPacked : SentKind::kText;
}

}  // namespace railbed
