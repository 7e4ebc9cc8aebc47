#include "monitor/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/files.h"
#include "base/shell.h"
#include "base/text.h"

namespace railbed {
namespace {

constexpr std::string_view kEventFile = "events.jsonl";
constexpr std::string_view kStateFile = "monitor.state";
constexpr std::string_view kLockFile = "monitor.lock";
constexpr std::size_t kLongestState = 16 << 20;
constexpr const char* kRootsFolder = "/var/lib/railbed";

tl::unexpected<Error> cannot(std::string_view doing, const std::string& path) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)));
}

Result<void> make_folder(const std::string& folder) {
  std::error_code error;
  const auto parent = std::filesystem::path(folder).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return cannot("make", folder);
  struct stat status = {};
  if (stat(folder.c_str(), &status) != 0) return cannot("look at", folder);
  if (!S_ISDIR(status.st_mode)) return fail(ErrorKind::kUnavailable, fmt::format("{} is no folder", folder));
  // Who can write there can have another file written by a link.
  if ((status.st_uid != geteuid() && status.st_uid != 0) || (status.st_mode & 022) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("others may write to {}: `{}`, or name another folder",
                                                     folder, command("chmod go-w {}", folder).text()));
  return {};
}

// By fcntl: a child that hangs in a driver call keeps no lock of a monitor that was killed.
Result<Fd> take_lock(const std::string& folder, const std::string& path) {
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd) return cannot("open", path);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(fd.get(), F_SETLK, &lock) == 0) return fd;
  if (errno != EACCES && errno != EAGAIN) return cannot("lock", path);
  const bool known = fcntl(fd.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  return fail(ErrorKind::kUnavailable,
              fmt::format("another monitor{} writes to {}: name another folder, or stop that one",
                          known ? fmt::format(" (process {})", lock.l_pid) : "", folder));
}

// What kills in the middle of writing the state have left.
void sweep(const std::string& folder) {
  std::error_code error;
  const std::string prefix = std::string(kStateFile) + '.';
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.starts_with(prefix) && name.size() == prefix.size() + 6) unlink(at->path().c_str());
  }
}

std::string name_of(const std::string& folder, int generation) {
  return fmt::format("{}/{}{}", folder, kEventFile, generation == 0 ? "" : fmt::format(".{}", generation));
}

}  // namespace

std::string default_state_folder() {
  if (geteuid() == 0 ||
      access((std::string(kRootsFolder) + '/' + std::string(kEventFile)).c_str(), R_OK) == 0)
    return kRootsFolder;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/')
    return std::string(state) + "/railbed";
  const char* home = std::getenv("HOME");
  return home == nullptr || home[0] == '\0' ? kRootsFolder : std::string(home) + "/.local/state/railbed";
}

Result<EventLog> EventLog::open(const std::string& folder, std::size_t most_bytes) {
  if (auto made = make_folder(folder); !made) return fail(made.error());
  EventLog log;
  log.folder_ = folder;
  log.most_bytes_ = most_bytes;
  auto lock = take_lock(folder, log.file(kLockFile));
  if (!lock) return fail(lock.error());
  log.lock_ = std::move(*lock);
  sweep(folder);
  return log;
}

// Ends a line that was cut, so that the next is one of its own.
Result<void> EventLog::open_file() {
  const std::string path = name_of(folder_, 0);
  Fd fd(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) != 0) return cannot("open", path);
  if (!S_ISREG(status.st_mode))
    return fail(ErrorKind::kUnavailable, fmt::format("cannot write {}: it is no file", path));
  size_ = status.st_size;
  char last = '\n';
  if (size_ > 0 && pread(fd.get(), &last, 1, size_ - 1) != 1) return cannot("read", path);
  if (last != '\n') {
    if (!write_all(fd.get(), "\n")) return cannot("write", path);
    ++size_;
  }
  file_ = std::move(fd);
  return {};
}

Result<void> EventLog::rotate() {
  file_ = Fd();
  for (const int older : {2, 1}) {
    const std::string from = name_of(folder_, older - 1);
    if (rename(from.c_str(), name_of(folder_, older).c_str()) != 0 && errno != ENOENT)
      return cannot("rename", from);
  }
  return open_file();
}

Result<void> EventLog::append(std::string_view line) {
  if (!file_)
    if (auto opened = open_file(); !opened) return opened;
  if (size_ > 0 && static_cast<std::size_t>(size_) + line.size() > most_bytes_)
    if (auto rotated = rotate(); !rotated) return rotated;
  if (write_all(file_.get(), line)) {
    size_ += static_cast<off_t>(line.size());
    return {};
  }
  const auto error = cannot("write", name_of(folder_, 0));
  // What could not be taken back is ended when the file is opened again.
  (void)!ftruncate(file_.get(), size_);
  file_ = Fd();
  return error;
}

Result<std::string> EventLog::read_state() const {
  const std::string path = file(kStateFile);
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::string();
  return read_file(path, kLongestState);
}

Result<void> EventLog::write_state(std::string_view text) const {
  return write_file(file(kStateFile), text, 0600);
}

Result<std::string> EventLog::set_state_aside() const {
  const std::string aside = file(std::string(kStateFile) + ".set-aside");
  if (rename(file(kStateFile).c_str(), aside.c_str()) != 0) return cannot("rename", file(kStateFile));
  return aside;
}

LoggedEvents parse_events(std::string_view text, double since) {
  LoggedEvents found;
  for (const std::string_view line : lines(text)) {
    if (line.empty()) continue;
    auto event = line.size() <= kLongestEventLine ? parse_event_line(line) : std::nullopt;
    if (!event)
      ++found.unreadable;
    else if (event->time.unix_seconds >= since)
      found.events.push_back(std::move(*event));
  }
  return found;
}

Result<LoggedEvents> read_events(const std::string& folder, double since, std::size_t most) {
  struct stat status = {};
  if (stat(name_of(folder, 0).c_str(), &status) != 0) {
    if (errno == ENOENT)
      return fail(
          ErrorKind::kUnavailable,
          fmt::format("no monitor has written to {}: `railbed monitor` does; --state names another folder, "
                      "and root's, {}, is for root alone",
                      folder, kRootsFolder));
    return cannot("read", name_of(folder, 0));
  }
  // The newest first, for that one may become the next while it is read: its events are then seen twice,
  // and what is equal to what was read before is left out.
  std::vector<std::string> texts;
  for (const int generation : {0, 1, 2}) {
    const std::string path = name_of(folder, generation);
    if (generation > 0 && access(path.c_str(), F_OK) != 0) break;
    auto text = read_file(path, 2 * kEventLogBytes);
    if (!text) return fail(text.error());
    const bool twice = !texts.empty() && !texts.back().empty() && text->starts_with(texts.back());
    if (twice) texts.pop_back();
    texts.push_back(std::move(*text));
  }
  LoggedEvents all;
  for (auto text = texts.rbegin(); text != texts.rend(); ++text) {
    LoggedEvents one = parse_events(*text, since);
    all.unreadable += one.unreadable;
    std::move(one.events.begin(), one.events.end(), std::back_inserter(all.events));
  }
  if (all.events.size() > most)
    all.events.erase(all.events.begin(), all.events.end() - static_cast<std::ptrdiff_t>(most));
  return all;
}

}  // namespace railbed
