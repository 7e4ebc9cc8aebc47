// Renders the settings of the nodes of a cluster and plans the changes that they need.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "campaign/look/gather.h"
#include "configure/plan.h"
#include "settings/render.h"

namespace railbed {

struct PlanRequest {
  Sources sources;                 // must supply a cluster.yaml, given or with the captured machines
  std::vector<std::string> nodes;  // lists as of named_hosts(); empty: all
  std::set<Section> only;          // empty: all
  bool take_over = false;          // PlanOptions::take_over
  bool fix = false;                // keep only the changes that resolve a failed finding (answers.h) …
  std::set<std::string> rules;     // … of these rules; empty: all
};

// A set of node names.
using Names = std::set<std::string, std::less<>>;
// Expands lists (named_hosts() in inventory/hostlist.h) to nodes of the cluster; no list selects all nodes. Fails
// on a name that the cluster does not have.
Result<Names> chosen_nodes(const std::vector<std::string>& lists, const Cluster& cluster);

// Renders the settings from cluster.yaml and, if the sources supply them, facts. Does not connect to nodes.
Result<std::vector<NodeSettings>> render_nodes(const PlanRequest& request);

// Reads the facts of the live or captured nodes, then the files that their settings concern, and plans the
// changes. A node that cannot be read or planned has an error in the plan.
Result<ClusterPlan> plan_nodes(const PlanRequest& request, ReachOptions reach, const Caller& caller);

// The request of the agent's method "files" (docs/reference/agent-protocol.md).
struct FilesRequest {
  std::vector<std::string> paths;
  FIELDS(FilesRequest, paths);
};

}  // namespace railbed
