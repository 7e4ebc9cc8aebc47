// A Host over a folder: `/` itself or one that looks like it.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/folder_names.h"
#include "base/trusted_path.h"
#include "host/calls.h"
#include "host/open.h"
#include "os/errno_name.h"
#include "os/process.h"
#include "os/words.h"

namespace railbed {
namespace {

std::string target_of(const Fd& fd) {
  std::array<char, 4096> buffer{};
  const std::string link = fmt::format("/proc/self/fd/{}", fd.get());
  const ssize_t length = readlink(link.c_str(), buffer.data(), buffer.size());
  return length < 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(length));
}

// File systems in which only the kernel makes links: checking thousands of paths in them would be a waste of
// time.
bool is_of_kernel(std::string_view path) {
  return path.starts_with("/sys/") || path.starts_with("/proc/") || path.starts_with("/dev/");
}

// For root: what it reads is shown to others, so no link of another user is followed.
Fd open_trusted(const std::string& path, int flags) {
  const FoundEntry place = find_entry(path, Strangers::kMayWrite, LastLink::kFollow);
  if (place) return place->open(flags);
  errno = place.error().code;
  return Fd();
}

class FolderHost : public Host {
 public:
  FolderHost(Fd root, bool live)
      : root_(std::move(root)), prefix_(live ? "" : target_of(root_)), live_(live) {}

  Reading<std::string> read(std::string_view path, std::size_t limit) override {
    const std::string from(path);
    const Fd fd = open_file(path);
    if (!fd) return {miss_of(errno), from};
    std::string content;
    std::array<char, 4096> piece;
    while (content.size() < limit) {
      const ssize_t got = ::read(fd.get(), piece.data(), std::min(piece.size(), limit - content.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return {miss_of(errno), from};
      if (got == 0) break;
      content.append(piece.data(), static_cast<std::size_t>(got));
    }
    return {std::move(content), from};
  }

  Reading<std::vector<std::string>> list(std::string_view path) override {
    const std::string from(path);
    Fd fd = open_inside(path, O_RDONLY | O_DIRECTORY);
    if (!fd) return {miss_of(errno), from};
    auto names = folder_names(std::move(fd));
    if (!names) return {miss_of(errno), from};
    return {std::move(*names), from};
  }

  Reading<std::string> resolve(std::string_view path) override {
    const Fd fd = open_inside(path, O_PATH);
    if (!fd) return {miss_of(errno), std::string(path)};
    const std::string target = target_of(fd);
    if (!target.starts_with(prefix_)) return {miss_of(EXDEV), std::string(path)};
    const std::string inside = target.substr(prefix_.size());
    return {inside.empty() ? "/" : inside, std::string(path)};
  }

  Reading<CommandOutput> run(const std::vector<std::string>& words,
                             std::chrono::milliseconds deadline) override {
    if (live_) return run_program(words, deadline);
    return {Miss{Missing::kAbsent, "a folder has no commands"}, joined(words)};
  }

  Reading<std::string> call(std::string_view name) override {
    if (live_) return call_system(name);
    return {Miss{Missing::kAbsent, "a folder has no system to ask"}, std::string(name)};
  }

 protected:
  // Opens a regular file. Returns an empty Fd with errno set on failure.
  Fd open_file(std::string_view path) const {
    // O_NONBLOCK: opening a FIFO must not block.
    Fd fd = open_inside(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct stat status = {};
    if (!fd || fstat(fd.get(), &status) != 0) return Fd();
    if (S_ISREG(status.st_mode)) return fd;
    fd.reset();
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    return Fd();
  }

 private:
  // openat2 (Linux 5.6): the kernel itself keeps every link inside the root.
  Fd open_inside(std::string_view path, int flags) const {
    const std::string terminated(path);
    if (live_ && geteuid() == 0 && !is_of_kernel(path)) return open_trusted(terminated, flags);
    if (live_) return Fd(open(terminated.c_str(), flags | O_CLOEXEC));
    open_how how = {};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return Fd(static_cast<int>(syscall(SYS_openat2, root_.get(), terminated.c_str(), &how, sizeof how)));
  }

  Fd root_;
  std::string prefix_;  // the root's own path; empty for "/"
  bool live_;
};

// sysfs generates a file again for each read from its beginning, so opening it again is four fifths of the
// work, and looking for a missing file costs as much. So files stay open, and the entries of a folder are
// read once, except in class folders, where devices come and go.
class FolderKeptOpen final : public FolderHost {
 public:
  using FolderHost::FolderHost;

  Reading<std::string> read(std::string_view path, std::size_t limit) override {
    auto found = files_.find(path);
    if (found == files_.end()) {
      if (absent_.contains(path)) return {miss_of(ENOENT), std::string(path)};
      if (files_.size() >= kMostFiles) return FolderHost::read(path, limit);
      Fd fd = open_file(path);
      if (!fd) {
        if (errno == ENOENT && absent_.size() < kMostFiles) absent_.emplace(path);
        return FolderHost::read(path, limit);
      }
      found = files_.emplace(path, std::move(fd)).first;
    }
    std::array<char, 4096> page;
    const ssize_t got = pread(found->second.get(), page.data(), page.size(), 0);
    const bool is_whole = got >= 0 && static_cast<std::size_t>(got) < std::min(page.size(), limit);
    if (is_whole) return {std::string(page.data(), static_cast<std::size_t>(got)), std::string(path)};
    files_.erase(found);  // its device is gone, or it is not a file of sysfs
    return FolderHost::read(path, limit);
  }

  Reading<std::vector<std::string>> list(std::string_view path) override {
    if (path.starts_with("/sys/class/") && std::ranges::count(path, '/') == 3) return FolderHost::list(path);
    auto found = folders_.find(path);
    if (found == folders_.end()) found = folders_.emplace(path, FolderHost::list(path)).first;
    return found->second;
  }

  Reading<std::string> resolve(std::string_view path) override {
    auto found = links_.find(path);
    if (found == links_.end()) found = links_.emplace(path, FolderHost::resolve(path)).first;
    return found->second;
  }

 private:
  static constexpr std::size_t kMostFiles = 8192;
  std::map<std::string, Fd, std::less<>> files_;
  std::set<std::string, std::less<>> absent_;  // a driver does not add counters later
  std::map<std::string, Reading<std::vector<std::string>>, std::less<>> folders_;
  std::map<std::string, Reading<std::string>, std::less<>> links_;
};

template <class Folder>
Result<std::unique_ptr<Host>> open_as(const std::string& root) {
  Fd fd(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(ErrorKind::kUnavailable, root + ": " + miss_of(errno).why);
  const bool live = target_of(fd) == "/";
  return std::make_unique<Folder>(std::move(fd), live);
}

}  // namespace

Result<std::unique_ptr<Host>> open_folder(const std::string& root) { return open_as<FolderHost>(root); }

Result<std::unique_ptr<Host>> open_folder_kept(const std::string& root) {
  return open_as<FolderKeptOpen>(root);
}

std::unique_ptr<Host> open_this_machine() { return std::make_unique<FolderHost>(Fd(), true); }

}  // namespace railbed
