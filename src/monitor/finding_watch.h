// Findings that come and go, and facts that change, as events: each look's findings and facts go in, what
// happened since the look before comes out. Pure, but for what it remembers, which is written and read as
// JSON: a watch that is started again goes on where it was.
//
// Which findings: those that fail or warn and that no other explains, by rule, node and subject. One that is
// explained by another now is still there. "Unknown" makes nothing gone, and is told only when it lasts for
// kPatientLooks: a single read that fails is no event. Of a message numbers do not count, for counters move
// at every look; what it says else does.
//
// Damping: whoever reseats a cable or restarts a service twice makes four changes; the fifth within half an
// hour is taken for a thing that flaps, as a bad cable does for days. It is told once, then nothing, until
// nothing has changed for as long as the window is: less, and what flaps every twenty minutes would be told
// as flapping and calm by turns.
//
// Clocks: events carry the wall clock's time. All that is measured (windows, what was shortly before) is
// measured on the watch's own clock, which only goes forward: by the time between two looks, and not at all
// where the wall clock was set back, or says that it does not know the time yet.
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
#include "monitor/events.h"
#include "monitor/fact_history.h"
#include "verify/findings.h"

namespace railbed {

inline constexpr int kPatientLooks = 3;
inline constexpr std::size_t kFlapChanges = 5;
inline constexpr double kFlapSeconds = 30 * 60;
inline constexpr std::size_t kMostTracked = 2000;       // findings; more are left out
inline constexpr std::size_t kMostChanges = 200;        // that are remembered,
inline constexpr double kChangeSeconds = 30 * 86400.0;  // for so long
inline constexpr double kShortlyBefore = 86400;  // a change may have to do with what appears within a day
inline constexpr std::size_t kChangesNamed = 3;
// A fact that changes as often within that day is not told until it has been quieter.
inline constexpr std::size_t kOftenChanged = 5;
inline constexpr double kRemembered = 7 * 86400.0;  // how long a finding that is gone is counted as known

// The rule of the finding that the node itself could not be looked at.
inline constexpr std::string_view kLookRule = "monitor.look";

struct FindingKey {
  std::string rule;
  std::string node;
  std::string subject;
  auto operator<=>(const FindingKey&) const = default;
};

// What is remembered of a finding.
struct TrackedFinding {
  std::string rule;
  std::string node;
  std::string subject;
  Status status = Status::kUnknown;
  std::optional<Status> told;  // the status that was told last; nothing: it has not been told
  std::string message;
  std::string remedy;
  double since = 0;  // Unix time
  bool present = false;
  int unknown_looks = 0;      // in a row
  std::vector<double> turns;  // the latest changes, on the watch's own clock
  bool flapping = false;
  std::uint64_t times = 0;                  // it appeared
  double seen = 0;                          // last, on the watch's own clock
  std::vector<std::string> changes_before;  // facts that had changed when it appeared, the newest first
  FIELDS(TrackedFinding, rule, node, subject, status, told, message, remedy, since, present, unknown_looks,
         turns, flapping, times, seen, changes_before);
};

struct WatchState {
  std::string node;
  std::string boot_id;
  double last_look = 0;  // Unix time; 0: there was none
  double age = 0;        // of the watch's own clock
  std::vector<TrackedFinding> findings;
  std::vector<FactChange> changes;  // the oldest first
  FactTable facts;
  FIELDS(WatchState, node, boot_id, last_look, age, findings, changes, facts);
};

class FindingWatch {
 public:
  explicit FindingWatch(std::string node) : node_(std::move(node)) {}
  // Goes on from what state() said, which may be anybody's by now.
  static Result<FindingWatch> go_on(std::string node, WatchState state);
  WatchState state() const;

  std::vector<NodeEvent> look(const Findings& findings, const Facts& facts, double now);
  // The node gave no facts this time: what is found of it nevertheless is told, and nothing is gone.
  std::vector<NodeEvent> unseen(const Findings& findings, double now);
  // Nothing is known of the node this time: nothing is gone.
  std::vector<NodeEvent> failed_look(std::string_view why, double now);

  // Findings that are there and were told, with when they appeared.
  std::map<FindingKey, double> since() const;
  // The same as events, for a receiver that may have missed them.
  std::vector<NodeEvent> present(double now) const;
  std::size_t left_out() const { return left_out_; }  // findings of the latest look

 private:
  struct Sight;
  std::map<FindingKey, Sight> sights_of(const Findings& findings) const;
  void begin(const Facts* facts, double now);
  void take_facts(const Facts& facts);
  void see(const FindingKey& key, const Sight& sight);
  bool make_room();
  void see_red(TrackedFinding& one, const Sight& sight);
  void see_unknown(TrackedFinding& one, const Sight& sight);
  void leave(TrackedFinding& one);
  void settle_and_forget();
  void tell(TrackedFinding& one, EventKind kind, const Sight* sight);
  NodeEvent event_of(const TrackedFinding& one, EventKind kind) const;
  std::vector<std::string> changes_before(const Sight& sight) const;

  std::string node_;
  std::string boot_id_;
  double last_look_ = 0;
  double age_ = 0;
  bool started_ = false;
  std::map<FindingKey, TrackedFinding> tracked_;
  std::vector<FactChange> changes_;
  FactTable facts_;
  // Of the look that is under way:
  double now_ = 0;
  std::vector<NodeEvent> events_;
  std::size_t left_out_ = 0;
};

}  // namespace railbed
