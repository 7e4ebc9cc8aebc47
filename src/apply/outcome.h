// What became of an apply on a cluster, as data.
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

// What became of one node.
struct NodeOutcome {
  std::string node = {};
  std::optional<ApplyState> state = {};  // none: it was not touched, or nobody knows
  bool told_to_keep = false;             // and nobody knows whether it heard
  json::Lines why = {};                  // empty: all is well
  json::Lines log = {};
  FIELDS(NodeOutcome, node, state, told_to_keep, why, log);
};
struct RailFault {
  std::string rail = {};
  std::string from = {};
  std::string to = {};
  std::string cause = {};
  std::string remedy = {};
  FIELDS(RailFault, rail, from, to, cause, remedy);
};
struct ApplyOutcome {
  std::string id = {};
  bool committed = false;
  json::Lines why = {};  // it was not
  int paths = 0;         // of rails that were proven
  std::vector<RailFault> faults = {};
  std::vector<NodeOutcome> nodes = {};
  // Whether a node was changed at all, as far as is known.
  bool was_begun() const {
    return std::ranges::any_of(nodes, [](const NodeOutcome& one) {
      return one.state && *one.state != ApplyState::kStaged && *one.state != ApplyState::kDropped;
    });
  }
  FIELDS(ApplyOutcome, id, committed, why, paths, faults, nodes);
};

enum class RebootState {
  kLeft,    // not rebooted
  kWell,    // rebooted, and as it shall be
  kNotWell  // rebooted, and not back, or not as it shall be
};
constexpr auto enum_names(RebootState) { return std::array<std::string_view, 3>{"left", "well", "not-well"}; }
struct RebootedNode {
  std::string node = {};
  RebootState state = RebootState::kLeft;
  json::Lines why = {};  // empty: it is well, or its turn did not come
  double seconds = 0;    // that its turn took
  FIELDS(RebootedNode, node, state, why, seconds);
};
struct RebootOutcome {
  std::vector<RebootedNode> nodes = {};  // in the order of their turns
  bool is_complete() const {
    return std::ranges::all_of(nodes,
                               [](const RebootedNode& one) { return one.state == RebootState::kWell; });
  }
  FIELDS(RebootOutcome, nodes);
};

struct NodeHistory {
  std::string node = {};
  std::string error = {};  // why there is none
  std::vector<PastApply> applies = {};
  FIELDS(NodeHistory, node, error, applies);
};
}  // namespace railbed
