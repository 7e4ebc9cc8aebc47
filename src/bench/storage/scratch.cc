#include "bench/storage/scratch.h"
#include "base/random.h"

#include <dirent.h>
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
#include <memory>

namespace railbed {
namespace {

constexpr const char* kLockName = "owner";
constexpr std::size_t kDirectBlock = 4096;

std::string reason() { return std::strerror(errno); }

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  // The stream owns its descriptor: it gets one of its own.
  const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const Folder stream(own < 0 ? nullptr : fdopendir(own));
  if (!stream) return names;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

Fd open_folder_at(int parent, const std::string& name) {
  return Fd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// unlinkat() without AT_REMOVEDIR neither follows links nor removes folders.
void remove_files(int folder, bool with_lock) {
  for (const auto& name : names_in(folder))
    if (with_lock || name != kLockName) unlinkat(folder, name.c_str(), 0);
}

bool is_ours(int folder) {
  struct stat about = {};
  return fstat(folder, &about) == 0 && about.st_uid == geteuid();
}

// True when nobody holds the lock. A folder without one is not finished, or not ours.
bool owner_is_dead(int folder) {
  const Fd lock(openat(folder, kLockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  return lock && flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

Result<Scratch> Scratch::make(const std::string& parent) {
  // Its final name comes last: until then no sweep takes it for a dead one's.
  const std::string random = random_hex(8);
  const std::string early = parent + "/.railbed-" + random;
  const std::string path = fmt::format("{}/{}{}", parent, kScratchPrefix, random);
  if (mkdir(early.c_str(), 0700) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("make a folder in {}: {}", parent, reason()));
  Fd lock(::open((early + "/" + kLockName).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  // A file system without locks leaves the folder of a killed process to its user.
  if (lock) flock(lock.get(), LOCK_EX | LOCK_NB);
  if (!lock || rename(early.c_str(), path.c_str()) != 0) {
    const std::string why = reason();
    unlink((early + "/" + kLockName).c_str());
    rmdir(early.c_str());
    return fail(ErrorKind::kUnavailable, fmt::format("make a file in {}: {}", parent, why));
  }
  return Scratch(path, std::move(lock));
}

Scratch::~Scratch() {
  if (path_.empty()) return;
  if (const Fd folder = open_folder_at(AT_FDCWD, path_)) remove_files(folder.get(), true);
  rmdir(path_.c_str());
}

void Scratch::empty() const {
  if (const Fd folder = open_folder_at(AT_FDCWD, path_)) remove_files(folder.get(), false);
}

std::vector<std::string> sweep_scratch(const std::string& parent) {
  std::vector<std::string> swept;
  const Fd parent_folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent_folder) return swept;
  for (const auto& name : names_in(parent_folder.get())) {
    if (!name.starts_with(kScratchPrefix)) continue;
    const Fd folder = open_folder_at(parent_folder.get(), name);
    if (!folder || !is_ours(folder.get()) || !owner_is_dead(folder.get())) continue;
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

Result<void> try_direct(const std::string& folder) {
  const std::string file = folder + "/direct";
  const Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600));
  const auto refused = [&] {
    const std::string why = reason();
    unlink(file.c_str());
    return fail(ErrorKind::kUnavailable, why);
  };
  if (!fd) return refused();
  // Some file systems open, and refuse to write.
  alignas(kDirectBlock) static constexpr std::byte kBlock[kDirectBlock] = {};
  if (pwrite(fd.get(), kBlock, kDirectBlock, 0) != static_cast<ssize_t>(kDirectBlock)) return refused();
  unlink(file.c_str());
  return {};
}

}  // namespace railbed
