// The walk over what the kernel's log tells.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/kernel_log.h"
#include "verify/walk.h"

namespace railbed {

// What one node's log tells of one subject; never without an event.
struct Told {
  const NodeView& node;
  std::vector<const LogEvent*> events;

  const LogEvent& newest() const;
  const LogEvent* first(LogKind kind) const;  // null: none of that kind
  // "3 times, last at 2026-01-19T10:00:00Z". What one failure says in several ways (Xid 79, "fallen off the
  // bus" and Xid 154) is counted once.
  std::string how_often() const;
  double per_day() const;  // over at least one day
  // What stands at the address that it is about: "GPU 0000:06:00.0", "0000:02:00.0".
  std::string thing() const;

 private:
  std::uint64_t total() const;
};

// For `concerns`: events of one of these kinds.
template <class... Kinds>
auto is(Kinds... kinds) {
  return [=](const NodeView&, const LogEvent& event) { return ((event.kind == kinds) || ...); };
}

using Concerns = std::function<bool(const NodeView&, const LogEvent&)>;
using JudgeTold = std::function<void(Case&, const Told&)>;

// look(Case&, const Told&) for each subject of which a node's log has events that concern the rule. Where
// there is none the case passes, about `what`; where there is no log it does not apply (host.kernel-log says
// why).
void each_told(const Survey& survey, Judge& judge, std::string_view what, const Concerns& concerns,
               const JudgeTold& look);

}  // namespace railbed
