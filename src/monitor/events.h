// What happened on a node that is watched: findings that appear and go, facts that change, each with its
// time. A line of events.jsonl is one of these.
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

// A point in time that is RFC 3339 in JSON, UTC, whole seconds.
struct UtcTime {
  double unix_seconds = 0;
  std::string to_text() const;
  static std::optional<UtcTime> parse(std::string_view text);
  static constexpr std::string_view kExpected = "a time such as \"2026-01-19T10:00:00Z\"";
  auto operator<=>(const UtcTime&) const = default;
};

enum class EventKind {
  kStarted,      // a watch begins, or goes on after a gap
  kAppeared,     // a finding that was not there
  kChanged,      // it warned and fails now, or the other way round, or says something else
  kGone,         // it is no longer there
  kFlapping,     // it comes and goes: nothing more is said of it until it is still
  kCalm,         // it has been still for a while
  kFactChanged,  // firmware, driver, MTU … are others than at the look before
};
constexpr auto enum_names(EventKind) {
  return std::array<std::string_view, 7>{"started",  "appeared", "changed",     "gone",
                                         "flapping", "calm",     "fact-changed"};
}

struct NodeEvent {
  UtcTime time;
  EventKind kind = EventKind::kStarted;
  std::string node;
  std::string rule;  // empty, as subject and remedy: it is about no finding
  std::string subject;
  Status status = Status::kNotApplicable;  // of a finding that is gone the last that was told
  std::optional<Status> was;               // what was told before, where that was another
  bool present = false;                    // the finding is there
  std::string message;
  std::string remedy;
  std::optional<UtcTime> since;             // when the finding appeared; while it flaps, the first time
  std::uint64_t times_before = 0;           // how often it had appeared before
  std::vector<std::string> changes_before;  // of its device or the whole node, the newest first
  std::optional<double> gap_seconds;        // of a start: since the look before it
  FIELDS(NodeEvent, time, kind, node, rule, subject, status, was, present, message, remedy, since,
         times_before, changes_before, gap_seconds);
};

// One line of JSON with its line break. What is read is untrusted; nothing: it is no event.
std::string event_line(const NodeEvent& event);
std::optional<NodeEvent> parse_event_line(std::string_view line);

}  // namespace railbed
