// Turns findings that come and go, and facts that change, into events. Each look passes its findings and
// facts in; the events since the look before come out. The watch does no I/O. Its memory is a value
// (WatchState) that is written as JSON, so that a restarted watch resumes where it was.
//
// Which findings: those that fail or warn and that no other finding explains, keyed by rule, node and
// subject. A present finding that is now explained by another one stays present. "Unknown" never ends a
// finding, and is reported only after kPatientLooks looks in a row, because a single failed read is no event.
// A changed message is an event unless only its numbers differ, because counters change at every look.
//
// Damping: a finding that is no longer there is held for kHoldSeconds before it is reported as gone. One that
// returns meanwhile has never gone: neither its absence nor its return is an event. Someone who reseats a cable
// or restarts a service twice makes four changes. A fifth change within half an hour means that the finding
// flaps, as a bad cable does for days. This is one event, with the number of changes and the time of the first;
// then the watch is silent until the finding has not changed for the length of the window. A shorter silence
// would report a finding that changes every twenty minutes as flapping and calm by turns. Prometheus' alerts
// hold equally long (monitor/alerts/).
//
// Clocks: events carry wall-clock time. All intervals (windows, what was shortly before) are measured on the
// watch's own clock, which never goes back. It advances by the wall-clock time between two looks, but not if
// the wall clock was set back or shows that it is not set yet (a year before 2020).
//
// Cost of a look: O(n log n) for n findings. At most kMostTracked findings are tracked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "monitor/events/events.h"
#include "monitor/events/fact_history.h"
#include "verify/findings.h"

namespace railbed {

inline constexpr int kPatientLooks = 3;
inline constexpr std::size_t kFlapChanges = 5;
inline constexpr double kFlapSeconds = 30 * 60;
inline constexpr int kHoldSeconds = 5 * 60;             // a finding is gone after an absence of this length
inline constexpr std::size_t kMostTracked = 2000;       // findings; more are left out
inline constexpr std::size_t kMostChanges = 200;        // limit for remembered changes,
inline constexpr double kChangeSeconds = 30 * 86400.0;  // and for their age in seconds
// In seconds; a change may be related to a finding that appears within a day.
inline constexpr double kShortlyBefore = 86400;
// Limit for the changes that an event names.
inline constexpr std::size_t kChangesNamed = 3;
// A fact that has changed this often within that day is not reported until it changes less often.
inline constexpr std::size_t kOftenChanged = 5;
// In seconds, how long the watch remembers a finding that is gone.
inline constexpr double kRemembered = 7 * 86400.0;

// The rule of the finding that the node could not be inspected at all.
inline constexpr std::string_view kLookRule = "monitor.look";

struct FindingKey {
  std::string rule;
  std::string node;
  std::string subject;
  auto operator<=>(const FindingKey&) const = default;
};

// The memory of one finding.
struct TrackedFinding {
  std::string rule;
  std::string node;
  std::string subject;
  Status status = Status::kUnknown;
  std::optional<Status> told;  // the status that was reported last; nullopt if none was
  std::string message;
  std::string remedy;
  double since = 0;  // Unix time
  bool present = false;
  int unknown_looks = 0;      // in a row
  std::vector<double> turns;  // the latest changes, on the watch's own clock; at most kFlapChanges
  bool leaving = false;       // it is absent, which is not reported yet
  bool flapping = false;
  std::uint64_t flaps = 0;                  // number of changes while it flaps
  double flapping_since = 0;                // time of the first of them; Unix time
  std::uint64_t times = 0;                  // how often it appeared
  double seen = 0;                          // when it was last seen, or left, on the watch's own clock
  std::vector<std::string> changes_before;  // changes of facts shortly before it appeared, the newest first
  FIELDS(TrackedFinding, rule, node, subject, status, told, message, remedy, since, present, unknown_looks,
         turns, leaving, flapping, flaps, flapping_since, times, seen, changes_before);
};

// The memory of a watch, as it is written to the state file.
struct WatchState {
  std::string node;
  std::string boot_id;
  double last_look = 0;  // Unix time; 0 if there was none
  double age = 0;        // the watch's own clock, in seconds
  std::vector<TrackedFinding> findings;
  std::vector<FactChange> changes;  // the oldest first
  FactTable facts;
  FIELDS(WatchState, node, boot_id, last_look, age, findings, changes, facts);
};

// The watch of one node, or of a cluster as a whole. Not thread-safe.
class FindingWatch {
 public:
  explicit FindingWatch(std::string node) : node_(std::move(node)) {}
  // Resumes from a saved state. The state is untrusted, because its file may have been changed. Fails if the
  // state belongs to another node or holds a value that a watch cannot write.
  static Result<FindingWatch> go_on(std::string node, WatchState state);
  WatchState state() const;

  // Returns the events of a look at the node. `now` is Unix time in seconds.
  std::vector<NodeEvent> look(const Findings& findings, const Facts& facts, double now);
  // Returns the events of a look at which the node returned no facts. Findings that exist nevertheless are
  // reported; no finding ends.
  std::vector<NodeEvent> unseen(const Findings& findings, double now);
  // Returns the events of a look that failed because of `why`. No finding ends.
  std::vector<NodeEvent> failed_look(std::string_view why, double now);

  // Forgets the injected findings (injection.h), and returns the events that those which were reported are gone.
  std::vector<NodeEvent> withdraw_injected(double now);

  // Returns the present findings and when they appeared (Unix time).
  std::map<FindingKey, double> since() const;
  // Returns the present and the flapping findings as events, for a receiver that may have missed the original
  // ones.
  std::vector<NodeEvent> present(double now) const;
  std::size_t left_out() const { return left_out_; }  // number of findings that the latest look left out

 private:
  struct Sight;
  std::map<FindingKey, Sight> sights_of(const Findings& findings) const;
  void begin(const Facts* facts, double now);
  // Handles one finding of the look.
  void take_facts(const Facts& facts);
  void see(const FindingKey& key, const Sight& sight);
  // Makes room for one more finding; returns false if all tracked ones are present or flap. One that is held
  // is reported as gone first.
  bool make_room();
  // Handles a finding that is to be reported: one that fails or warns, or has been unknown for long enough.
  void see_red(TrackedFinding& finding, const Sight& sight);
  void see_unknown(TrackedFinding& finding, const Sight& sight);
  // Handles a finding that is absent from now on.
  void leave(TrackedFinding& finding);
  // Reports a held finding as gone.
  void go(TrackedFinding& finding);
  // Ends flapping that is over, and forgets findings that have been gone for long.
  void settle_and_forget();
  // Records a change. Adds `kind` as its event, if there is one and the finding does not flap, or the event that
  // it flaps from now on.
  void turn(TrackedFinding& finding, std::optional<EventKind> kind, const Sight* sight);
  NodeEvent event_of(const TrackedFinding& finding, EventKind kind) const;
  std::vector<std::string> changes_before(const Sight& sight) const;

  std::string node_;
  std::string boot_id_;
  double last_look_ = 0;
  double age_ = 0;
  bool started_ = false;
  std::map<FindingKey, TrackedFinding> tracked_;
  std::vector<FactChange> changes_;
  FactTable facts_;
  // State of the look in progress:
  double now_ = 0;
  std::vector<NodeEvent> events_;
  std::size_t left_out_ = 0;
};

}  // namespace railbed
