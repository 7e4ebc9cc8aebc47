#include "campaign/look/after_reboot.h"

#include <fmt/format.h>

#include <algorithm>

#include "campaign/change/apply_nodes.h"
#include "campaign/change/plan_nodes.h"

namespace railbed {
namespace {

// Returns the text for a lost change: the first unmet need that has a found value, else the change's title.
std::string told(const NodeChange& change) {
  for (const Need& need : change.unmet)
    if (!need.found.empty()) return fmt::format("{}: {}", need.what, need.found);
  return change.title;
}

}  // namespace

Result<void> add_after_reboot(const std::string& cluster_file, ReachOptions reach, const Caller& caller,
                              Evidence& evidence) {
  reach.as_root = true;
  std::vector<std::string> names;
  for (const Node& node : evidence.cluster.nodes) names.push_back(node.name);
  for (const NodeHistory& history : read_histories(evidence.cluster, names, reach, caller)) {
    AfterReboot& asked = evidence.after_reboot[history.node];
    asked.error = history.error;
    const auto last = std::ranges::find(history.applies, ApplyState::kCommitted, &PastApply::state);
    if (last == history.applies.end()) continue;
    asked.apply = last->id;
    asked.this_boot = last->this_boot;
  }
  PlanRequest request;
  request.sources.cluster = cluster_file;
  request.nodes = names;
  ASSIGN_OR_RETURN(const auto plan, plan_nodes(request, std::move(reach), caller));
  for (const NodePlan& node : plan.nodes) {
    AfterReboot& asked = evidence.after_reboot[node.node];
    if (asked.error.empty()) asked.error = node.error;
    for (const NodeChange& change : node.changes) asked.lost.push_back(told(change));
  }
  return {};
}

}  // namespace railbed
