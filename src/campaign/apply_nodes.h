// A plan made true on all its nodes, or on none: staged everywhere, switched everywhere, looked at over fresh
// connections, the rails proven from both ends, and committed. What fails on the way takes all of them back;
// a node that nobody can reach any more goes back by itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apply/outcome.h"
#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/reach.h"
#include "configure/plan.h"
#include "inventory/cluster.h"

namespace railbed {

struct ApplyChoice {
  std::string who;          // "alice@head"
  int seconds = 120;        // a node that has switched waits so long to be told
  bool management = false;  // changes of the management network are allowed
  bool skip_held = false;   // what is held is left out; else nothing is done
  bool prove = true;        // the rails, before it is committed
  bool discard = false;     // a rollback drops what people edited since
  std::size_t canary = 0;   // so many nodes first, on their own; 0: all at once
  std::function<bool(std::string_view question)> confirm = {};  // before the commit; empty: nobody is asked
};

// Why it is not begun: a node that could not be planned, a clock that is minutes off, held changes, the
// management network.
Result<void> check_apply(const ClusterPlan& plan, const ApplyChoice& choice);

// The plan with the changes that `wanted` picks.
ClusterPlan part_of(const ClusterPlan& plan, const std::function<bool(const NodeChange&)>& wanted);

ApplyOutcome apply_plan(const Cluster& cluster, const ClusterPlan& plan, const ApplyChoice& choice,
                        ReachOptions reach, const Caller& caller);

// Takes back the apply `target` and all that came after it, on all nodes that have it, in the same way.
ApplyOutcome roll_back(const Cluster& cluster, const std::string& target,
                       const std::vector<std::string>& nodes, const ApplyChoice& choice, ReachOptions reach,
                       const Caller& caller);

// By node.
std::vector<NodeHistory> read_histories(const Cluster& cluster, const std::vector<std::string>& nodes,
                                        ReachOptions reach, const Caller& caller);

}  // namespace railbed
