// Events on a watched node: findings appear and go, facts change, each at a time. Each line of events.jsonl
// is one event.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "verify/finding.h"

namespace railbed {

// The year 2020; a clock with an earlier time has not been set.
inline constexpr double kClockIsSet = 1577836800;

// A point in time. In JSON it is RFC 3339, UTC, with whole seconds.
struct UtcTime {
  double unix_seconds = 0;
  std::string to_text() const;
  static std::optional<UtcTime> parse(std::string_view text);
  static constexpr std::string_view kExpected = "a time such as \"2026-01-19T10:00:00Z\"";
  auto operator<=>(const UtcTime&) const = default;
};

enum class EventKind {
  kStarted,      // a watch starts, or resumes after a gap
  kAppeared,     // a new finding
  kChanged,      // a present finding changed from warning to failure or back, or has another message
  kGone,         // a finding has been absent for the hold time (finding_watch.h)
  kFlapping,     // a finding comes and goes; no more events until it is stable
  kCalm,         // a flapping finding has been stable for a while
  kFactChanged,  // firmware, driver, MTU and the like differ from the look before
};
constexpr auto enum_names(EventKind) {
  return std::array<std::string_view, 7>{"started",  "appeared", "changed",     "gone",
                                         "flapping", "calm",     "fact-changed"};
}

// One event. Its fields are the JSON of a line in events.jsonl.
struct NodeEvent {
  UtcTime time;
  EventKind kind = EventKind::kStarted;
  std::string node;
  std::string rule;  // empty if the event concerns no finding; subject and remedy are then empty, too
  std::string subject;
  Status status = Status::kNotApplicable;  // for a finding that is gone, the status that was reported last
  std::optional<Status> was;               // the status that was reported before, if it was another
  bool present = false;                    // the finding is present
  std::string message;
  std::string remedy;
  std::optional<UtcTime> since;           // time at which it appeared; a return within the hold time is none
  std::optional<UtcTime> until;           // for kGone: time of the first look without it
  std::uint64_t flaps = 0;                // of one that flaps or did until now: number of its changes
  std::optional<UtcTime> flapping_since;  // time of the first of them
  std::uint64_t times_before = 0;         // number of earlier appearances
  std::vector<std::string> changes_before;  // changes of its device or of the whole node, the newest first
  std::optional<double> gap_seconds;        // for a start: the time since the look before it
  FIELDS(NodeEvent, time, kind, node, rule, subject, status, was, present, message, remedy, since, until,
         flaps, flapping_since, times_before, changes_before, gap_seconds);
};

// Returns the event as one line of JSON, with its line break.
std::string event_line(const NodeEvent& event);
// Parses one line, which is untrusted. Returns nullopt if it is not an event of a node.
std::optional<NodeEvent> parse_event_line(std::string_view line);

}  // namespace railbed
