// Walks over the events in the kernel's log.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/log/kernel_log.h"
#include "hardware/xid.h"
#include "verify/walk.h"

namespace railbed {

// The events in one node's log about one subject; at least one.
struct Told {
  const NodeView& node;
  std::vector<const LogEvent*> events;

  const LogEvent& newest() const;
  const LogEvent* first(LogKind kind) const;  // null if none of that kind
  // Returns "3 times, last at 2026-01-19T10:00:00Z". Several messages about one failure (Xid 79, "fallen off
  // the bus" and Xid 154) count once.
  std::string how_often() const;
  double per_day() const;  // averaged over the log's span, at least one day
  // Returns the device at the subject's PCI address: "GPU 0000:06:00.0", "0000:02:00.0".
  std::string thing() const;

 private:
  std::uint64_t total() const;
};

// Makes a filter for each_told(): events of one of these kinds.
template <class... Kinds>
auto is(Kinds... kinds) {
  return [=](const NodeView&, const LogEvent& event) { return ((event.kind == kinds) || ...); };
}

// Returns the action that an event of a GPU requires; nullopt for other events.
std::optional<XidAction> xid_action_of(const LogEvent& event);
// Returns "Xid 31, a program touched GPU memory that is not mapped".
std::string xid_meaning_of(const LogEvent& event);
// Xids that a program causes by invalid memory accesses, and one that the driver reports of its own work when
// such a program hangs the GPU's channels: NVIDIA Xid catalog.
bool is_xid_of_program(int code);
bool xid_follows_program(int code);
// Returns true if the cause came just before `effect` (Unix time), within the minute that the driver takes to stop such a
// program. An event that occurred several times keeps only its first and last time.
bool xid_came_before(const LogEvent& cause, double effect);

using Concerns = std::function<bool(const NodeView&, const LogEvent&)>;
using JudgeTold = std::function<void(Case&, const Told&)>;

// Why a rule cannot conclude from what a log does not hold.
inline constexpr const char* kPartOfLog = "this report holds a part of the kernel log, not all of it";

// Calls look(Case&, const Told&) for each subject with events in a node's log that `concerns` selects. A node
// without such events passes, with the subject `what`; where the log is a part, that is unknown. A node whose log could not be read is not applicable
// (host.kernel-log reports the reason).
void each_told(const Survey& survey, Judge& judge, std::string_view what, const Concerns& concerns,
               const JudgeTold& look);

}  // namespace railbed
