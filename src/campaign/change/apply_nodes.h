// Applies a plan to all its nodes or to none. Nodes stage the change, switch to it, and are checked over new
// connections; the rails are tested from both ends, and then the nodes commit. A failure on the way rolls all
// of them back. A node that can no longer be reached rolls back by itself.
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
  int seconds = 120;        // a node that has switched rolls back if it has no decision after this time
  bool management = false;  // changes of the management network are allowed
  bool skip_held = false;   // leave out held changes; otherwise a held change refuses the apply
  bool prove = true;        // test the rails before the commit
  bool discard = false;     // a rollback discards later edits of the files by other people
  std::size_t canary = 0;   // number of nodes that change first, in a batch of their own; 0: all at once
  // Called before the commit; false rolls back. Empty: commits without a question.
  std::function<bool(std::string_view question)> confirm = {};
};

// Returns an error if the plan must not be applied: a node could not be planned, its clock is more than five
// minutes off and the plan does not set it, a change is held, or a change touches the management network.
// `choice` can permit the last two.
Result<void> check_apply(const ClusterPlan& plan, const ApplyChoice& choice);

// Returns the plan reduced to the changes for which `wanted` returns true.
ClusterPlan part_of(const ClusterPlan& plan, const std::function<bool(const NodeChange&)>& wanted);

// Applies the plan's changes, except held ones, to all nodes that have any. Blocks until every node has
// committed, has rolled back or counts as lost. `outcome.committed` is false if the apply was rolled back;
// `outcome.why` has the cause.
ApplyOutcome apply_plan(const Cluster& cluster, const ClusterPlan& plan, const ApplyChoice& choice,
                        ReachOptions reach, const Caller& caller);

// Rolls back the apply `target` and all later ones on `nodes`, with the same steps as apply_plan().
ApplyOutcome roll_back(const Cluster& cluster, const std::string& target,
                       const std::vector<std::string>& nodes, const ApplyChoice& choice, ReachOptions reach,
                       const Caller& caller);

// Reads the history of applies of each node. A node that cannot be read has an error in its entry.
std::vector<NodeHistory> read_histories(const Cluster& cluster, const std::vector<std::string>& nodes,
                                        ReachOptions reach, const Caller& caller);

}  // namespace railbed
