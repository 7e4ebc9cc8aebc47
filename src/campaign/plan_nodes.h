// What nodes shall have, and what would change on them: rendered and planned over a whole cluster.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "campaign/gather.h"
#include "configure/plan.h"
#include "settings/render.h"

namespace railbed {

struct PlanRequest {
  Sources sources;                 // a cluster.yaml, its own or that of the captured machines
  std::vector<std::string> nodes;  // names and ranges; empty: all
  std::set<Section> only;          // empty: all
  bool take_over = false;          // PlanOptions::take_over
  bool fix = false;                // only what answers a red finding (answers.h) …
  std::set<std::string> rules;     // … of these rules; empty: of all
};

// The nodes that names and ranges mean; all of the cluster where none is given.
using Names = std::set<std::string, std::less<>>;
Result<Names> chosen_nodes(const std::vector<std::string>& patterns, const Cluster& cluster);

// Without a look at live nodes: by cluster.yaml, and by facts where the sources bring some.
Result<std::vector<NodeSettings>> render_nodes(const PlanRequest& request);

// Looks at the nodes, or at captured ones, for their facts and then for the files that their settings
// concern.
Result<ClusterPlan> plan_nodes(const PlanRequest& request, ReachOptions reach, const Caller& caller);

// What an agent answers to "files" (docs/reference/agent-protocol.md).
struct FilesRequest {
  std::vector<std::string> paths;
  FIELDS(FilesRequest, paths);
};

}  // namespace railbed
