#include "apply/writable_host.h"

#include <dirent.h>
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
#include "host/process.h"

namespace railbed {
namespace {

constexpr const char* kLabelAttribute = "security.selinux";
// Readers of folders leave out what ends like this, NetworkManager among them, which reads every other name.
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

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
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

Result<std::optional<KeptFile>> WritableHost::read(const std::string& path) const {
  const Fd fd(open(below_root(path).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!fd && errno == ELOOP)
    return fail(ErrorKind::kUnavailable,
                path + " is a symbolic link: replace it by a file, or leave its section out with --only");
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) != 0) return cannot("read", path);
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::kUnavailable, path + " is no regular file");
  KeptFile kept{.mode = static_cast<int>(status.st_mode & 07777),
                .owner = status.st_uid,
                .group = status.st_gid,
                .label = label_of(fd.get())};
  if (!take_all(fd.get(), kept.content.bytes)) return cannot("read", path);
  return kept;
}

Result<void> WritableHost::write(const std::string& path, const KeptFile& file) {
  const std::string real = below_root(path);
  const std::string temporary = real + std::string(kTemporary);
  if (is_stopped("write " + path)) return cannot("write", path);
  unlink(temporary.c_str());
  // Nobody else reads it before it has its own mode.
  const Fd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd || !write_all(fd.get(), file.content.bytes) || fchown(fd.get(), file.owner, file.group) != 0 ||
      fchmod(fd.get(), static_cast<mode_t>(file.mode)) != 0)
    return cannot("write", path);
  if (!file.label.empty() &&
      fsetxattr(fd.get(), kLabelAttribute, file.label.data(), file.label.size(), 0) != 0)
    return cannot("keep the SELinux label of", path);
  if (is_stopped("sync " + path) || fsync(fd.get()) != 0) return cannot("write", path);
  if (is_stopped("rename " + path) || rename(temporary.c_str(), real.c_str()) != 0)
    return cannot("write", path);
  return sync_folder_of(path);
}

Result<void> WritableHost::remove(const std::string& path) {
  const std::string real = below_root(path);
  if (is_stopped("remove " + path)) return cannot("remove", path);
  unlink((real + std::string(kTemporary)).c_str());
  if (unlink(real.c_str()) == 0) return sync_folder_of(path);
  if (errno == ENOENT || errno == ENOTDIR) return {};
  return cannot("remove", path);
}

Result<void> WritableHost::make_folder(const std::string& path, int mode) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const bool last = end == std::string::npos;
    const std::string some = path.substr(0, end);
    if (!is_folder(some)) {
      if (is_stopped("make folder " + some) ||
          (mkdir(below_root(some).c_str(), static_cast<mode_t>(last ? mode : 0755)) != 0 && errno != EEXIST))
        return cannot("make the folder", some);
      if (auto synced = sync_folder_of(some); !synced) return synced;
    }
    if (last) return {};
  }
}

void WritableHost::remove_folder(const std::string& path) {
  if (!is_stopped("remove folder " + path) && rmdir(below_root(path).c_str()) == 0)
    (void)sync_folder_of(path);
}

bool WritableHost::is_folder(const std::string& path) const {
  struct stat status = {};
  return stat(below_root(path).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<bool> WritableHost::publish(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  if (auto written = write(temporary, {{std::string(text)}, 0600, geteuid(), getegid(), ""}); !written)
    return fail(written.error());
  const bool first =
      !is_stopped("publish " + path) && link(below_root(temporary).c_str(), below_root(path).c_str()) == 0;
  const int problem = errno;
  unlink(below_root(temporary).c_str());
  if (!first && problem != EEXIST) {
    errno = problem;
    return cannot("write", path);
  }
  if (auto synced = sync_folder_of(path); !synced) return fail(synced.error());
  return first;
}

Result<void> WritableHost::link_to(const std::string& target, const std::string& path) {
  if (is_stopped("link " + path) ||
      (symlink(target.c_str(), below_root(path).c_str()) != 0 && errno != EEXIST))
    return cannot("make", path);
  return sync_folder_of(path);
}

std::vector<std::string> WritableHost::list(const std::string& path) const {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(below_root(path).c_str()), closedir);
  if (!folder) return names;
  while (const dirent* entry = readdir(folder.get()))
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  std::ranges::sort(names);
  return names;
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

Result<void> WritableHost::sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  if (is_stopped("sync folder " + folder)) return cannot("sync the folder", folder);
  const Fd fd(open(below_root(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0) return cannot("sync the folder", folder);
  return {};
}

}  // namespace railbed
