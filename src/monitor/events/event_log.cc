#include "monitor/events/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/folder_names.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/user_folders.h"

namespace railbed {
namespace {

constexpr std::string_view kEventFile = "events.jsonl";
constexpr std::string_view kStateFile = "monitor.state";
constexpr std::string_view kWatchedFile = "monitor.watched";
constexpr std::string_view kLockFile = "monitor.lock";
constexpr std::size_t kLongestState = 16 << 20;
constexpr int kMostSetAside = 9;
constexpr std::size_t kTemporaryDigits = 6;  // random digits that write_file() appends
constexpr const char* kRootsFolder = "/var/lib/railbed-monitor";

tl::unexpected<Error> cannot(std::string_view doing, const std::string& path) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)));
}

// Takes the folder's lock by fcntl(), which a child process does not inherit. A child that hangs in a driver
// call therefore does not hold the lock of a monitor that was killed.
Result<Fd> take_lock(const Fd& in, const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, kLockFile);
  Fd fd = entry_in(in, std::string(kLockFile), folder).open(O_RDWR | O_CREAT | O_NONBLOCK, 0600);
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

// Removes the temporary files that a kill during write_state() or write_watched() has left.
void sweep(const Fd& in) {
  for (const std::string& name : folder_names(reopened(in.get())).value_or(std::vector<std::string>()))
    for (const std::string_view kept : {kStateFile, kWatchedFile})
      if (name.starts_with(std::string(kept) + '.') && name.size() == kept.size() + 1 + kTemporaryDigits)
        unlinkat(in.get(), name.c_str(), 0);
}

// Returns the text without the events before `oldest` at its start. Lines that decide nothing go with the older
// event that follows them.
std::string_view not_older(std::string_view text, double oldest) {
  std::size_t cut = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = text.substr(begin, end - begin);
    const auto event = line.size() <= kLongestEventLine ? parse_event_line(trim(line)) : std::nullopt;
    const double time = event ? event->time.unix_seconds : 0;
    if (time >= oldest) break;
    if (time >= kClockIsSet) cut = end;
    begin = end;
  }
  return text.substr(cut);
}

// Adds the events of a text since `since`, the newest first, until there are `most`. Walks from the last line to the
// first, so that neither memory nor time grows with the events that are left out.
void add_older(LoggedEvents& found, std::string_view text, double since, std::size_t most) {
  while (!text.empty()) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    const std::size_t begin = text.rfind('\n') + 1;  // 0 without a line break
    const std::string_view line = trim(text.substr(begin));
    text = text.substr(0, begin);
    if (line.empty()) continue;
    if (found.events.size() == most) {
      found.more = true;
      return;
    }
    auto event = line.size() <= kLongestEventLine ? parse_event_line(line) : std::nullopt;
    if (!event)
      ++found.unreadable;
    else if (event->time.unix_seconds >= since)
      found.events.push_back(std::move(*event));
  }
}

std::string event_file(int generation) {
  return fmt::format("{}{}", kEventFile, generation == 0 ? "" : fmt::format(".{}", generation));
}
std::string name_of(const std::string& folder, int generation) {
  return fmt::format("{}/{}", folder, event_file(generation));
}

}  // namespace

std::string default_state_folder() {
  if (geteuid() == 0 ||
      access((std::string(kRootsFolder) + '/' + std::string(kEventFile)).c_str(), R_OK) == 0)
    return kRootsFolder;
  const std::string own = state_folder();
  return own.empty() ? kRootsFolder : own;
}

Result<EventLog> EventLog::open(const std::string& folder, std::size_t most_bytes) {
  ASSIGN_OR_RETURN(auto opened, open_state_folder(folder));
  EventLog log;
  log.folder_ = folder;
  log.in_ = std::move(opened);
  log.most_bytes_ = most_bytes;
  ASSIGN_OR_RETURN(auto lock, take_lock(log.in_, folder));
  log.lock_ = std::move(lock);
  sweep(log.in_);
  return log;
}

// Opens events.jsonl, and ends a truncated line so that the next one starts on its own line.
Result<void> EventLog::open_file() {
  const std::string path = name_of(folder_, 0);
  Fd fd = at(kEventFile).open(O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0600);
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
  (void)at(".").sync();  // so that a power cut does not take a new file; not every file system can
  return {};
}

Result<void> EventLog::sync() const {
  if (file_ && fdatasync(file_.get()) != 0) return cannot("sync", name_of(folder_, 0));
  return {};
}

Result<void> EventLog::prune(double oldest) {
  for (const int generation : {2, 1, 0}) {
    const FolderEntry place = at(event_file(generation));
    const std::string path = name_of(folder_, generation);
    struct stat status = {};
    if (!place.look(status)) {
      if (errno == ENOENT) continue;
      return cannot("look at", path);
    }
    ASSIGN_OR_RETURN(const auto text, read_file(place, path, 2 * kMostEventLogBytes));
    const std::string_view rest = not_older(text, oldest);
    if (rest.size() == text.size()) continue;
    if (generation == 0) file_ = Fd();
    if (generation > 0 && rest.empty()) {
      if (unlinkat(in_.get(), place.name.c_str(), 0) != 0) return cannot("remove", path);
      continue;
    }
    RETURN_IF_ERROR(write_file(place, path, rest, 0600));
  }
  return {};
}

Result<void> EventLog::rotate() {
  file_ = Fd();
  for (const int older : {2, 1}) {
    if (renameat(in_.get(), event_file(older - 1).c_str(), in_.get(), event_file(older).c_str()) != 0 &&
        errno != ENOENT)
      return cannot("rename", name_of(folder_, older - 1));
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
  // If this fails, the next open_file() ends the partial line.
  (void)!ftruncate(file_.get(), size_);
  file_ = Fd();
  return error;
}

std::string EventLog::state_path() const { return file(kStateFile); }

std::string EventLog::watched_path() const { return file(kWatchedFile); }

Result<std::string> EventLog::read_state() const { return read_kept(kStateFile); }
Result<std::string> EventLog::read_watched() const { return read_kept(kWatchedFile); }

Result<std::string> EventLog::read_kept(std::string_view name) const {
  const FolderEntry place = at(name);
  struct stat status = {};
  if (!place.look(status) && errno == ENOENT) return std::string();
  return read_file(place, file(name), kLongestState);
}

Result<void> EventLog::write_state(std::string_view text) const {
  return write_file(at(kStateFile), file(kStateFile), text, 0600);
}
Result<void> EventLog::write_watched(std::string_view text) const {
  return write_file(at(kWatchedFile), file(kWatchedFile), text, 0600);
}

Result<std::string> EventLog::set_state_aside() const {
  const std::string state(kStateFile);
  for (int number = 1; number <= kMostSetAside; ++number) {
    const std::string aside =
        fmt::format("{}.set-aside{}", state, number == 1 ? "" : fmt::format(".{}", number));
    struct stat status = {};
    if (number < kMostSetAside && at(aside).look(status)) continue;
    if (renameat(in_.get(), state.c_str(), in_.get(), aside.c_str()) != 0) break;
    return file(aside);
  }
  return cannot("rename", file(kStateFile));
}

Result<void> EventLog::keep_older_state(int version) const {
  const std::string state(kStateFile);
  const std::string kept = fmt::format("{}.version-{}", state, version);
  if (unlinkat(in_.get(), kept.c_str(), 0) != 0 && errno != ENOENT) return cannot("replace", file(kept));
  if (linkat(in_.get(), state.c_str(), in_.get(), kept.c_str(), 0) != 0) return cannot("keep", file(kept));
  return {};
}

LoggedEvents parse_events(std::string_view text, double since, std::size_t most) {
  LoggedEvents found;
  add_older(found, text, since, most);
  std::ranges::reverse(found.events);
  return found;
}

Result<LoggedEvents> read_events(const std::string& folder, double since, std::size_t most) {
  struct stat status = {};
  const FoundEntry newest = find_entry(name_of(folder, 0), Strangers::kMayWrite);
  if (!newest && newest.error().code != ENOENT) return cannot("read", name_of(folder, 0), newest.error());
  if (!newest || !newest->look(status)) {
    if (!newest || errno == ENOENT)
      return fail(
          ErrorKind::kUnavailable,
          fmt::format("no monitor has written to {}: `railbed monitor` does; --state names another folder, "
                      "and root's, {}, is for root alone",
                      folder, kRootsFolder));
    return cannot("read", name_of(folder, 0));
  }
  // Reads the newest file first. If a rotation happens meanwhile, the file just read becomes the next
  // generation, and its events would appear twice. A text that is repeated at the start of the next file is
  // therefore dropped.
  std::vector<std::string> texts;
  for (const int generation : {0, 1, 2}) {
    const FolderEntry place = entry_in(newest->folder, event_file(generation), folder);
    if (generation > 0 && !place.look(status)) break;
    ASSIGN_OR_RETURN(auto text, read_file(place, name_of(folder, generation), 2 * kMostEventLogBytes));
    const bool twice = !texts.empty() && !texts.back().empty() && text.starts_with(texts.back());
    if (twice) texts.pop_back();
    texts.push_back(std::move(text));
  }
  LoggedEvents all;
  for (const std::string& text : texts) add_older(all, text, since, std::min(most, kMostEventsRead));
  std::ranges::reverse(all.events);
  return all;
}

}  // namespace railbed
