#include "bench/storage/scratch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/folder_names.h"
#include "base/random.h"
#include "base/trusted_path.h"

namespace railbed {
namespace {

constexpr const char* kLockName = "owner";
constexpr std::size_t kDirectBlock = 4096;

std::string reason() { return std::strerror(errno); }

std::vector<std::string> names_in(int folder) {
  return folder_names(reopened(folder)).value_or(std::vector<std::string>());
}

Fd open_subfolder(int parent, const std::string& name) {
  return Fd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// unlinkat() without AT_REMOVEDIR neither follows links nor removes folders.
void remove_files(int folder, bool with_lock) {
  for (const auto& name : names_in(folder))
    if (with_lock || name != kLockName) unlinkat(folder, name.c_str(), 0);
}

bool is_of_this_user(int folder) {
  struct stat about = {};
  return fstat(folder, &about) == 0 && about.st_uid == geteuid();
}

// Returns true if no process holds the lock. A folder without a lock file is incomplete, or not from railbed.
bool owner_is_dead(int folder) {
  const Fd lock(openat(folder, kLockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  return lock && flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

Result<Scratch> Scratch::make(const std::string& parent) {
  auto within = open_folder_at(parent, Strangers::kMayWrite);
  if (!within) return cannot("make a folder in", parent, within.error());
  // The folder gets its final name last, because sweep_scratch() of another process would remove it while its
  // lock is free.
  const std::string random = random_hex(8);
  const std::string early = ".railbed-" + random;
  const std::string name = fmt::format("{}{}", kScratchPrefix, random);
  if (mkdirat(within->get(), early.c_str(), 0700) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("make a folder in {}: {}", parent, reason()));
  Fd folder = open_subfolder(within->get(), early);
  Fd lock(folder && is_of_this_user(folder.get())
              ? openat(folder.get(), kLockName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
              : -1);
  // On a file system without locks, the user must remove the folder of a killed process.
  if (lock) flock(lock.get(), LOCK_EX | LOCK_NB);
  if (!lock || renameat(within->get(), early.c_str(), within->get(), name.c_str()) != 0) {
    const std::string why = reason();
    if (folder) unlinkat(folder.get(), kLockName, 0);
    unlinkat(within->get(), early.c_str(), AT_REMOVEDIR);
    return fail(ErrorKind::kUnavailable, fmt::format("make a file in {}: {}", parent, why));
  }
  return Scratch(std::move(*within), name, std::move(folder), std::move(lock));
}

Scratch::~Scratch() {
  if (!folder_) return;
  remove_files(folder_.get(), true);
  unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
}

// The path ends in "/." because the part before is a link of the kernel, and fio examines the path itself:
// with "/." it finds a folder.
std::string Scratch::path() const { return fmt::format("/proc/{}/fd/{}/.", getpid(), folder_.get()); }

void Scratch::empty() const { remove_files(folder_.get(), false); }

std::vector<std::string> sweep_scratch(const std::string& parent) {
  std::vector<std::string> swept;
  const auto found = open_folder_at(parent, Strangers::kMayWrite);
  if (!found) return swept;
  const Fd& parent_folder = *found;
  for (const auto& name : names_in(parent_folder.get())) {
    if (!name.starts_with(kScratchPrefix)) continue;
    const Fd folder = open_subfolder(parent_folder.get(), name);
    if (!folder || !is_of_this_user(folder.get()) || !owner_is_dead(folder.get())) continue;
    remove_files(folder.get(), true);
    if (unlinkat(parent_folder.get(), name.c_str(), AT_REMOVEDIR) == 0) swept.push_back(name);
  }
  return swept;
}

Result<Room> room_at(const std::string& folder) {
  struct statvfs room = {};
  struct statfs kind = {};
  if (statvfs(folder.c_str(), &room) != 0 || statfs(folder.c_str(), &kind) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", folder, reason()));
  return Room{room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize,
              kind.f_type == TMPFS_MAGIC || kind.f_type == RAMFS_MAGIC};
}

Result<Fd> make_nameless_file(const std::string& folder) {
  const auto within = open_folder_at(folder, Strangers::kMayWrite);
  if (!within) return cannot("make a file in", folder, within.error());
  Fd file(openat(within->get(), ".", O_RDWR | O_TMPFILE | O_EXCL | O_DIRECT | O_CLOEXEC, 0600));
  // Not every file system makes files without a name: then its name goes at once.
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR)) {
    const std::string name = std::string(kScratchPrefix) + random_hex(8);
    file = Fd(openat(within->get(), name.c_str(),
                     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_DIRECT | O_CLOEXEC, 0600));
    const int why = errno;
    // A file system may have made the file before it refused direct access.
    if (why != EEXIST) unlinkat(within->get(), name.c_str(), 0);
    errno = why;
  }
  if (!file) return fail(ErrorKind::kUnavailable, reason());
  return file;
}

Result<void> try_direct(const std::string& folder) {
  const std::string file = folder + "/direct";
  const Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600));
  const auto refused = [&] {
    const std::string why = reason();
    unlink(file.c_str());
    return fail(ErrorKind::kUnavailable, why);
  };
  if (!fd) return refused();
  // Some file systems allow to open the file, but not to write it.
  alignas(kDirectBlock) static constexpr std::byte kBlock[kDirectBlock] = {};
  if (pwrite(fd.get(), kBlock, kDirectBlock, 0) != static_cast<ssize_t>(kDirectBlock)) return refused();
  unlink(file.c_str());
  return {};
}

}  // namespace railbed
