// Publishes the result of each look of a monitor: compares it with the look before, and sends the events that
// follow to the state folder, to journald and to a webhook. A sink that fails is reported once and does not
// affect the others. An event that could not be written waits in memory; at most 1000 do.
//
// One thread calls the look functions. The query functions are thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/watched.h"
#include "monitor/events/event_log.h"
#include "monitor/events/finding_watch.h"
#include "monitor/events/webhook.h"
#include "os/journal.h"
#include "verify/verify.h"

namespace railbed {

// A year, and a month in which to look at it.
inline constexpr double kKeepEventsSeconds = 400 * 86400.0;

struct EventDeskOptions {
  std::string folder = default_state_folder();
  std::string node;                     // the node's name in findings; for a fleet, the name of the cluster
  std::vector<std::string> nodes = {};  // for a fleet: the names of its nodes
  bool fresh = false;  // renames the saved state and begins without it, of whatever version it is
  std::size_t log_bytes = kEventLogBytes;    // for each of the three files of events
  double keep_seconds = kKeepEventsSeconds;  // older events are removed; 0: none is
  bool journal = true;
  std::string journal_socket = "/run/systemd/journal/socket";
  std::optional<WebhookOptions> webhook = {};  // the publisher sets its note
  // Receives one line for each problem of the monitor itself. May be called from other threads.
  std::function<void(const std::string&)> note = {};
};

struct EventCounts {
  std::map<EventKind, std::uint64_t> events = {};  // since the start of the process
  std::uint64_t unwritten = 0;                     // waiting for room on the disk
  std::uint64_t lost = 0;                          // dropped because more than 1000 were waiting
  std::uint64_t journal_refused = 0;               // rejected by journald
  WebhookCounts webhook;
};

// See the head of this file. The state folder is locked for as long as the publisher exists.
class EventDesk {
 public:
  // Opens the state folder and restores what the previous process saved, also if that was of an older version. A
  // state that cannot be used is set aside and reported, not an error. A state of a newer railbed is an error
  // (kBadInput) and stays as it is, unless `fresh` is set. Sends the findings that were present to the webhook
  // again.
  static Result<std::unique_ptr<EventDesk>> open(EventDeskOptions options);
  ~EventDesk();  // saves the state

  // Handles the result of one look at the node. `now` is Unix time in seconds.
  void look(const Verdict& verdict, const Facts& facts, double now);
  // Handles a look that failed because of `why`.
  void failed_look(std::string_view why, double now);
  // Handles one look at a fleet. Each node has its own watch, and the cluster as a whole has one. Findings of
  // a node that returned no facts are not reported as gone. While there is such a node, neither are findings
  // of the cluster as a whole, because they may involve that node.
  void look_at_fleet(const Findings& findings, const Evidence& evidence, double now);

  // Return and keep what was seen over time, by node (monitor.watched). A file that cannot be used is reported, and the
  // next one replaces it; one of a newer railbed stays, and nothing is kept. A kill loses at most ten minutes.
  std::map<std::string, Watched> watched();
  void keep_watched(std::map<std::string, std::shared_ptr<const Watched>> watched, double now);

  // Ends the injected findings (injection.h), and gives the webhook two seconds to tell it. To be called as the look
  // functions are. After a kill, open() does it.
  void withdraw_injected();

  // Returns the last events, the newest last; they include those of earlier processes.
  std::vector<NodeEvent> recent(std::size_t most) const;
  // Returns when each present finding appeared, as Unix time.
  std::map<FindingKey, double> since() const;
  // Returns one event for each present finding, with the changes that preceded it.
  std::vector<NodeEvent> present() const;
  EventCounts counts() const;

 private:
  EventDesk(EventDeskOptions options, EventLog log);
  Result<void> restore();
  // Restores the watches from a saved state. Uses all of it or, on error, nothing. Skips nodes that are no
  // longer watched.
  Result<void> go_on(WatchState state, std::vector<WatchState> nodes);
  std::vector<NodeEvent> all_present(double now) const;
  std::map<FindingKey, double> all_since() const;
  // Publishes the events of one look, saves the state, and updates what the query functions return.
  void take(std::vector<NodeEvent> events, double now);
  // Queues the event for the log and sends it to journald and the webhook.
  void tell(const NodeEvent& event);
  // Appends queued lines to the log until one fails; drops the oldest if more than 1000 are left.
  void write_waiting();
  // Removes events that are too old, once a day.
  void prune(double now);
  // Writes the state file if `at_once` or if the last write is 30 seconds old.
  void keep_state(double now, bool at_once);
  void write_watched();
  void note(const std::string& text) const;
  // Reports a failure once, and its end once. `told` holds the failure in between.
  void trouble(std::optional<std::string>& told, const Result<void>& outcome, std::string_view over);

  EventDeskOptions options_;
  EventLog log_;
  FindingWatch watch_;  // of the node, or of the cluster as a whole
  std::map<std::string, FindingWatch> node_watches_;
  std::optional<SystemJournal> journal_;
  std::unique_ptr<Webhook> webhook_;

  // Guards the next four members. The watches and the files belong to the thread that looks.
  mutable std::mutex mutex_;
  std::deque<NodeEvent> recent_;
  std::map<FindingKey, double> since_;
  std::vector<NodeEvent> present_;
  EventCounts counts_;

  std::deque<std::string> waiting_;  // lines for the log
  std::optional<std::string> log_trouble_, sync_trouble_, state_trouble_, watched_trouble_, prune_trouble_,
      journal_trouble_;
  bool told_left_out_ = false;
  bool restored_ = false;
  double kept_at_ = 0;
  std::map<std::string, std::shared_ptr<const Watched>> watched_;
  double watched_kept_at_ = 0;
  bool keeps_watched_ = true;
  // The time by which events are too old. It goes on with the clock, but never by more than a month between two
  // looks: a clock that is set wrong does not remove events.
  double age_clock_ = 0, last_look_ = 0, pruned_at_ = 0;
};

}  // namespace railbed
