// The state folder of a monitor: events.jsonl, where events are appended, two older ones of the same name
// with .1 and .2, and monitor.state, what the watch remembers. One process at a time writes there.
//
// A kill at any moment leaves at most one line that is cut, which readers pass over and the next writer
// ends. Files are 0600: events name hardware, addresses and what is wrong with them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/trusted_path.h"
#include "monitor/events.h"

namespace railbed {

inline constexpr std::size_t kEventLogBytes = 4 << 20;  // of each of the three; thousands of events
inline constexpr std::size_t kLongestEventLine = 64 << 10;

// /var/lib/railbed-monitor for root, or where it can be read; else $XDG_STATE_HOME/railbed, as the history of
// runs.
std::string default_state_folder();

class EventLog {
 public:
  // Makes the folder (0700) where it is not there, and refuses one that others may write to or that another
  // process has.
  static Result<EventLog> open(const std::string& folder, std::size_t most_bytes = kEventLogBytes);

  // One line, which ends with a line break. Where it does not fit on the disk, nothing of it stays.
  Result<void> append(std::string_view line);

  // "" where there is none yet.
  Result<std::string> read_state() const;
  Result<void> write_state(std::string_view text) const;
  // What cannot be read as a state, under another name, so that it can be looked at.
  Result<std::string> set_state_aside() const;

 private:
  EventLog() = default;
  Result<void> open_file();
  Result<void> rotate();
  std::string file(std::string_view name) const { return folder_ + '/' + std::string(name); }
  FolderEntry at(std::string_view name) const { return entry_in(in_, std::string(name), folder_); }

  std::string folder_;
  Fd in_;  // the folder itself, whatever is at its path by now
  std::size_t most_bytes_ = kEventLogBytes;
  Fd lock_;
  Fd file_;
  off_t size_ = 0;
};

struct LoggedEvents {
  std::vector<NodeEvent> events;  // the oldest first
  std::size_t unreadable = 0;     // lines that are no events; one of them may be cut by a kill
};

// The last `most` events since `since` (Unix time) of the folder's three files. No such file is an error.
Result<LoggedEvents> read_events(const std::string& folder, double since, std::size_t most);
// Of one file's text.
LoggedEvents parse_events(std::string_view text, double since);

}  // namespace railbed
