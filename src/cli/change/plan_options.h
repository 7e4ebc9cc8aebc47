// The options that `railbed plan` and `railbed render` share.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "campaign/change/apply_nodes.h"
#include "campaign/change/plan_nodes.h"
#include "campaign/change/reboot_nodes.h"

namespace CLI {
class App;
}

namespace railbed {

inline constexpr Document<ClusterPlan> kPlanDocument{"railbed-plan"};
inline constexpr Document<ApplyOutcome> kApplyDocument{"railbed-apply"};
inline constexpr Document<RebootOutcome> kRebootDocument{"railbed-reboot"};
inline constexpr Document<std::vector<NodeSettings>> kRenderDocument{"railbed-render", 1, "nodes"};

struct PlanOptionsSaid {
  PlanRequest request;
  std::vector<std::string> only;
  bool json = false;
};

// Adds cluster.yaml, NODE…, --only and --json, bound to `said`, which must outlive the parsing.
void add_plan_options(CLI::App& app, PlanOptionsSaid& said);
// Returns the request with the sections that --only named.
PlanRequest request_of(const PlanOptionsSaid& said);

}  // namespace railbed
