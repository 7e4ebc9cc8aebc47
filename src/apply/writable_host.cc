#include "apply/writable_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/fd.h"
#include "base/folder_names.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr const char* kLabelAttribute = "security.selinux";
// Programs that read a folder ignore names with this ending, including NetworkManager, which reads all other
// names.
constexpr std::string_view kTemporary = ".railbed-new~";
constexpr std::size_t kMostKeptBytes = 16 << 20;

tl::unexpected<Error> cannot(std::string_view doing, const std::string& path) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)));
}

std::string label_of(int fd) {
  char label[256];
  const ssize_t size = fgetxattr(fd, kLabelAttribute, label, sizeof label);
  std::string text(label, size > 0 ? static_cast<std::size_t>(size) : 0);
  while (text.ends_with('\0')) text.pop_back();
  return text;
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_nothing(int code) { return code == ENOENT || code == ENOTDIR; }
bool is_unknown_flag(int code) { return code == EINVAL || code == ENOSYS || code == EOPNOTSUPP; }

// A partly written file would take up space that a rollback may need.
tl::unexpected<Error> cannot_and_remove(std::string_view doing, const std::string& path,
                                        const FolderEntry& written) {
  const auto error = cannot(doing, path);
  unlinkat(written.folder.get(), written.name.c_str(), 0);
  return error;
}

bool take_all(int fd, std::string& bytes) {
  char piece[kChunkBytes];
  while (bytes.size() <= kMostKeptBytes) {
    const ssize_t got = ::read(fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    bytes.append(piece, static_cast<std::size_t>(got));
  }
  errno = EFBIG;
  return false;
}

}  // namespace

WritableHost::WritableHost(std::string root, RunWords run) : root_(std::move(root)), run_(std::move(run)) {
  if (!run_) run_ = [](const auto& words, auto deadline) { return run_program(words, deadline); };
}

FoundEntry WritableHost::place_of(const std::string& path) const {
  return find_entry(below_root(path), Strangers::kNothing);
}

Result<std::optional<KeptFile>> WritableHost::read(const std::string& path) const {
  return read_at(path, false);
}
Result<std::optional<KeptFile>> WritableHost::read_own(const std::string& path) const {
  return read_at(path, true);
}

Result<std::optional<KeptFile>> WritableHost::read_at(const std::string& path, bool own) const {
  const FoundEntry place = place_of(path);
  if (!place && is_nothing(place.error().code)) return std::nullopt;
  if (!place) return railbed::cannot("read", path, place.error());
  const Fd fd = place->open(O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd && is_nothing(errno)) return std::nullopt;
  if (!fd && errno == ELOOP)
    return fail(ErrorKind::kUnavailable,
                path + " is a symbolic link: replace it by a file, or leave its section out with --only");
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) != 0) return cannot("read", path);
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::kUnavailable, path + " is no regular file");
  if (own && !is_ours(status))
    return fail(ErrorKind::kUnavailable,
                fmt::format("{} is not believed: another user could have written it (owner {}, mode {:o})",
                            path, status.st_uid, status.st_mode & 07777));
  KeptFile kept{.mode = static_cast<int>(status.st_mode & 07777),
                .owner = status.st_uid,
                .group = status.st_gid,
                .label = label_of(fd.get())};
  if (!take_all(fd.get(), kept.content.bytes)) return cannot("read", path);
  return kept;
}

Result<void> WritableHost::write(const std::string& path, const KeptFile& file) {
  const FoundEntry place = place_of(path);
  if (!place) return railbed::cannot("write", path, place.error());
  if (is_stopped("write " + path)) return cannot("write", path);
  const int folder = place->folder.get();
  const FolderEntry temporary{Fd(dup(folder)), place->name + std::string(kTemporary), place->directory};
  unlinkat(folder, temporary.name.c_str(), 0);
  // No other user can read it before it has its final mode.
  const Fd fd = temporary.open(O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!fd || !write_all(fd.get(), file.content.bytes) || fchown(fd.get(), file.owner, file.group) != 0 ||
      fchmod(fd.get(), static_cast<mode_t>(file.mode)) != 0)
    return cannot_and_remove("write", path, temporary);
  if (!file.label.empty() &&
      fsetxattr(fd.get(), kLabelAttribute, file.label.data(), file.label.size(), 0) != 0)
    return cannot_and_remove("keep the SELinux label of", path, temporary);
  if (is_stopped("sync " + path) || fsync(fd.get()) != 0) return cannot_and_remove("write", path, temporary);
  if (is_stopped("rename " + path) ||
      renameat(folder, temporary.name.c_str(), folder, place->name.c_str()) != 0)
    return cannot_and_remove("write", path, temporary);
  return sync_folder(*place, path);
}

Result<void> WritableHost::overwrite(const std::string& path, std::string_view text) {
  const FoundEntry place = place_of(path);
  if (!place) return railbed::cannot("write", path, place.error());
  if (is_stopped("overwrite " + path)) return cannot("write", path);
  const Fd fd = place->open(O_WRONLY | O_NONBLOCK);
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) != 0) return cannot("write", path);
  if (!S_ISREG(status.st_mode) || static_cast<std::size_t>(status.st_size) < text.size())
    return fail(ErrorKind::kUnavailable, fmt::format("cannot write {}: it is too short", path));
  if (!write_all(fd.get(), text) || ftruncate(fd.get(), static_cast<off_t>(text.size())) != 0 ||
      fsync(fd.get()) != 0)
    return cannot("write", path);
  return {};
}

Result<void> WritableHost::remove(const std::string& path) {
  const FoundEntry place = place_of(path);
  if (!place && is_nothing(place.error().code)) return {};
  if (!place) return railbed::cannot("remove", path, place.error());
  if (is_stopped("remove " + path)) return cannot("remove", path);
  unlinkat(place->folder.get(), (place->name + std::string(kTemporary)).c_str(), 0);
  if (unlinkat(place->folder.get(), place->name.c_str(), 0) == 0) return sync_folder(*place, path);
  if (is_nothing(errno)) return {};
  return cannot("remove", path);
}

Result<void> WritableHost::make_folder(const std::string& path, int mode) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const bool last = end == std::string::npos;
    const std::string some = path.substr(0, end);
    if (!is_folder(some)) {
      if (is_stopped("make folder " + some)) return cannot("make the folder", some);
      const auto made = open_folder_at(below_root(some), Strangers::kNothing, last ? mode : 0755);
      if (!made) return railbed::cannot("make the folder", some, made.error());
      const FoundEntry place = place_of(some);
      if (!place) return railbed::cannot("make the folder", some, place.error());
      if (auto synced = sync_folder(*place, some); !synced) return synced;
    }
    if (last) return {};
  }
}

void WritableHost::remove_folder(const std::string& path) {
  const FoundEntry place = place_of(path);
  if (place && !is_stopped("remove folder " + path) &&
      unlinkat(place->folder.get(), place->name.c_str(), AT_REMOVEDIR) == 0)
    (void)sync_folder(*place, path);
}

bool WritableHost::is_folder(const std::string& path) const {
  struct stat status = {};
  return stat(below_root(path).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<bool> WritableHost::publish(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  RETURN_IF_ERROR(write(temporary, {{std::string(text)}, 0600, geteuid(), getegid(), ""}));
  auto first = rename_new(temporary, path);
  if (!first || !*first)
    if (const FoundEntry place = place_of(temporary)) unlinkat(place->folder.get(), place->name.c_str(), 0);
  return first;
}

Result<bool> WritableHost::rename_new(const std::string& from, const std::string& to) {
  const FoundEntry place = place_of(to);
  if (!place) return railbed::cannot("write", to, place.error());
  if (is_stopped("publish " + to)) return cannot("write", to);
  const int folder = place->folder.get();
  const std::string name = name_of(from);
  if (renameat2(folder, name.c_str(), folder, place->name.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) return false;
    if (!is_unknown_flag(errno)) return cannot("write", to);
    // NFS and others do not support this rename. A hard link also succeeds only for the first process.
    if (linkat(folder, name.c_str(), folder, place->name.c_str(), 0) != 0)
      return errno == EEXIST ? Result<bool>(false) : Result<bool>(cannot("write", to));
    unlinkat(folder, name.c_str(), 0);
  }
  RETURN_IF_ERROR(sync_folder(*place, to));
  return true;
}

Result<void> WritableHost::rename_over(const std::string& from, const std::string& to) {
  const FoundEntry place = place_of(to);
  if (!place) return railbed::cannot("write", to, place.error());
  if (is_stopped("rename " + to) ||
      renameat(place->folder.get(), name_of(from).c_str(), place->folder.get(), place->name.c_str()) != 0)
    return cannot("write", to);
  return sync_folder(*place, to);
}

Result<void> WritableHost::exchange(const std::string& one, const std::string& other) {
  const FoundEntry place = place_of(one);
  if (!place) return railbed::cannot("write", one, place.error());
  if (is_stopped("exchange " + one)) return cannot("write", one);
  const int folder = place->folder.get();
  const std::string name = name_of(other);
  if (renameat2(folder, place->name.c_str(), folder, name.c_str(), RENAME_EXCHANGE) != 0) {
    if (!is_unknown_flag(errno)) return cannot("write", one);
    // NFS and others cannot exchange files: `one` is replaced atomically, `other` a moment later.
    const std::string third = name + std::string(kTemporary);
    unlinkat(folder, third.c_str(), 0);
    if (linkat(folder, place->name.c_str(), folder, third.c_str(), 0) != 0 ||
        renameat(folder, name.c_str(), folder, place->name.c_str()) != 0 ||
        renameat(folder, third.c_str(), folder, name.c_str()) != 0)
      return cannot("write", one);
  }
  return sync_folder(*place, one);
}

Result<void> WritableHost::link_to(const std::string& target, const std::string& path) {
  const FoundEntry place = place_of(path);
  if (!place) return railbed::cannot("make", path, place.error());
  if (is_stopped("link " + path) ||
      (symlinkat(target.c_str(), place->folder.get(), place->name.c_str()) != 0 && errno != EEXIST))
    return cannot("make", path);
  return sync_folder(*place, path);
}

Result<std::vector<std::string>> WritableHost::list(const std::string& path) const {
  std::vector<std::string> names;
  const auto own = open_folder_at(below_root(path), Strangers::kNothing);
  if (!own && is_nothing(own.error().code)) return names;
  if (!own) return railbed::cannot("read", path, own.error());
  auto found = folder_names(reopened(own->get()));
  if (!found) return cannot("read", path);
  return std::move(*found);
}

bool WritableHost::is_there(const std::string& path) const {
  const FoundEntry place = place_of(path);
  struct stat status = {};
  if (!place) return !is_nothing(place.error().code);
  return place->look(status) || !is_nothing(errno);
}

Fd WritableHost::open_lock(const std::string& path) const {
  const FoundEntry place = place_of(path);
  return place ? place->open(O_RDWR | O_CREAT, 0600) : Fd();
}

Fd WritableHost::open_own_folder(const std::string& path) const {
  const auto folder = open_folder_at(below_root(path), Strangers::kNothing);
  if (!folder) return Fd();
  return Fd(openat(folder->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::uint64_t WritableHost::bytes_free(const std::string& path) const {
  struct statvfs status = {};
  if (statvfs(below_root(path).c_str(), &status) != 0) return 0;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

Reading<CommandOutput> WritableHost::run(const std::vector<std::string>& words,
                                         std::chrono::milliseconds deadline) {
  if (is_stopped("run " + words.front()))
    return {Miss{Missing::kDenied, std::strerror(errno)}, words.front()};
  return run_(words, deadline);
}

Reading<CommandOutput> WritableHost::ask(const std::vector<std::string>& words,
                                         std::chrono::milliseconds deadline) const {
  return run_(words, deadline);
}

bool WritableHost::is_stopped(std::string_view operation) const {
  errno = before_each(operation);
  return errno != 0;
}

Result<void> WritableHost::sync_folder(const FolderEntry& place, const std::string& path) {
  if (is_stopped("sync folder of " + path) || !place.sync()) return cannot("sync the folder of", path);
  return {};
}

}  // namespace railbed
