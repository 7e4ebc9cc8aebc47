// How rules ask the kernel's log: one walk for all of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/kernel_log.h"
#include "verify/judge.h"
#include "verify/survey.h"

namespace railbed {

// Events of one node about one subject; never empty.
using Told = std::vector<const LogEvent*>;

struct LogQuestion {
  std::string_view what;  // subject of the case that passes: "Xid"
  std::function<bool(const NodeView&, const LogEvent&)> concerns;
  // Ends the case: red, or pass where it is no harm.
  std::function<void(Case&, const NodeView&, const Told&)> judge;
};

// For `concerns`: events of this kind.
inline auto is(LogKind kind) {
  return [kind](const NodeView&, const LogEvent& event) { return event.kind == kind; };
}

// On each node: not applicable where there is no log (host.kernel-log says why), pass where no event
// concerns, else one case for each subject with events.
void ask_log(const Survey& survey, Judge& judge, const LogQuestion& question);

std::uint64_t total(const Told& told);
const LogEvent& newest(const Told& told);
// "3 times, last at 2026-01-19T10:00:00Z".
std::string how_often(const Told& told);
// Events a day, over at least one day.
double per_day(const NodeView& node, const Told& told);
// "GPU 0000:06:00.0", "0000:02:00.0": what stands at the address.
std::string thing_at(const NodeView& node, const std::string& address);

}  // namespace railbed
