// The outcome of an apply on a cluster, as data.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/node_apply.h"
#include "base/fields.h"

namespace railbed {

// The outcome on one node.
struct NodeOutcome {
  std::string node = {};
  std::optional<ApplyState> state = {};  // nullopt: not touched, or unknown
  bool told_to_keep = false;             // a commit was sent, and not confirmed
  json::Lines why = {};                  // empty if all is well
  json::Lines log = {};
  FIELDS(NodeOutcome, node, state, told_to_keep, why, log);
};
// A rail path that failed its test after the change.
struct RailFault {
  std::string rail = {};
  std::string from = {};
  std::string to = {};
  std::string cause = {};
  std::string remedy = {};
  FIELDS(RailFault, rail, from, to, cause, remedy);
};
// The outcome on all nodes.
struct ApplyOutcome {
  std::string id = {};
  bool committed = false;
  json::Lines why = {};                // why it was not committed
  int paths = 0;                       // number of rail paths that passed the test
  std::vector<RailFault> faults = {};  // they took the change back
  // Of rails that carried nothing before the change either, and that it does not concern.
  std::vector<RailFault> old_faults = {};
  std::vector<NodeOutcome> nodes = {};
  // Returns true if a node is known to have been changed at all.
  bool was_begun() const {
    return std::ranges::any_of(nodes, [](const NodeOutcome& outcome) {
      return outcome.state && *outcome.state != ApplyState::kStaged && *outcome.state != ApplyState::kDropped;
    });
  }
  FIELDS(ApplyOutcome, id, committed, why, paths, faults, old_faults, nodes);
};

enum class RebootState {
  kLeft,    // not rebooted
  kWell,    // rebooted, and as desired
  kNotWell  // rebooted, and not back or not as desired
};
constexpr auto enum_names(RebootState) { return std::array<std::string_view, 3>{"left", "well", "not-well"}; }
// The outcome of one node's reboot.
struct RebootedNode {
  std::string node = {};
  RebootState state = RebootState::kLeft;
  json::Lines why = {};  // empty if it is well, or it was not rebooted
  double seconds = 0;    // duration of its reboot and checks
  FIELDS(RebootedNode, node, state, why, seconds);
};
// The outcome of reboots, one node after the other.
struct RebootOutcome {
  std::vector<RebootedNode> nodes = {};  // in the order of reboots
  bool is_complete() const {
    return std::ranges::all_of(nodes,
                               [](const RebootedNode& node) { return node.state == RebootState::kWell; });
  }
  FIELDS(RebootOutcome, nodes);
};

// The applies of one node.
struct NodeHistory {
  std::string node = {};
  std::string error = {};  // why there is no history
  std::vector<PastApply> applies = {};
  FIELDS(NodeHistory, node, error, applies);
};
}  // namespace railbed
