// The state folder of a monitor. It holds events.jsonl, to which events are appended, two older generations
// of it (.1 and .2), monitor.state, the memory of the watch, and monitor.watched, what was seen over time. One process at
// a time may write there.
//
// After a kill at any moment, at most one line is truncated. Readers skip it, and the next writer ends it
// with a line break. Files have mode 0600, because events name hardware, its addresses and its faults.
//
// The folder's size is limited by that of the three files, and events older than a given time are removed by
// prune(). A state that another version wrote, or that cannot be used, is renamed and never overwritten.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/trusted_path.h"
#include "monitor/events/events.h"

namespace railbed {

// Limit for each of the three files; room for thousands of events.
inline constexpr std::size_t kEventLogBytes = 4 << 20;
inline constexpr std::size_t kMostEventLogBytes = 16 << 20;  // the largest limit that may be chosen
inline constexpr std::size_t kLongestEventLine = 64 << 10;
// Limit of the events that are read back; more than railbed writes into three files of the largest size.
inline constexpr std::size_t kMostEventsRead = 250'000;

// Returns /var/lib/railbed-monitor for root, or if its events.jsonl is readable. Otherwise returns
// $XDG_STATE_HOME/railbed (default ~/.local/state/railbed), where the history of runs also is.
std::string default_state_folder();

// A writer of the state folder. It holds the folder's lock.
class EventLog {
 public:
  // Creates the folder (mode 0700) if it does not exist, and takes its lock. Fails if others may write to the
  // folder, or if another process holds the lock.
  static Result<EventLog> open(const std::string& folder, std::size_t most_bytes = kEventLogBytes);

  // Appends one line, which must end with a line break. Rotates the files first if the line would exceed the
  // limit. If the line does not fit on the disk, removes the part that was written.
  Result<void> append(std::string_view line);

  // Flushes what was appended to the disk, so that a power cut does not take it.
  Result<void> sync() const;
  // Removes the events before `oldest` (Unix time) from the start of each file, up to the first one that is not
  // older, and files of which nothing is left. A time before 2020 is of a clock that was not set, and decides
  // nothing. After a failure the old files are intact.
  Result<void> prune(double oldest);

  std::string state_path() const;
  // Returns the text of the state file; empty if there is none.
  Result<std::string> read_state() const;
  Result<void> write_state(std::string_view text) const;
  // The same for monitor.watched, what a monitor saw over time, which may be removed at any time.
  std::string watched_path() const;
  Result<std::string> read_watched() const;
  Result<void> write_watched(std::string_view text) const;
  // Renames the state file to monitor.state.set-aside, so that it can be inspected, or put back for the railbed
  // that wrote it. If that name is taken, appends a number; the tenth replaces the ninth. Returns its new path.
  Result<std::string> set_state_aside() const;
  // Keeps the state file, which is of an older version, as monitor.state.version-N beside the one that will be
  // written.
  Result<void> keep_older_state(int version) const;

 private:
  EventLog() = default;
  Result<void> open_file();
  Result<void> rotate();
  Result<std::string> read_kept(std::string_view name) const;
  std::string file(std::string_view name) const { return folder_ + '/' + std::string(name); }
  FolderEntry at(std::string_view name) const { return entry_in(in_, std::string(name), folder_); }

  std::string folder_;
  Fd in_;  // the folder itself, even if its path now leads elsewhere
  std::size_t most_bytes_ = kEventLogBytes;
  Fd lock_;
  Fd file_;
  off_t size_ = 0;
};

// Events that were read back from the files.
struct LoggedEvents {
  std::vector<NodeEvent> events;  // the oldest first
  std::size_t unreadable = 0;     // lines read that are not events; a kill may have truncated one of them
  bool more = false;              // older lines were not read
};

// Returns the last `most` events since `since` (Unix time) from the folder's three files, at most
// kMostEventsRead. Fails if events.jsonl does not exist.
Result<LoggedEvents> read_events(const std::string& folder, double since, std::size_t most);
// Returns the last `most` events since `since` (Unix time) in the text of one file.
LoggedEvents parse_events(std::string_view text, double since, std::size_t most);

}  // namespace railbed
