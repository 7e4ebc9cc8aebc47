// Selects the changes of a plan that fix findings of verify: the part that `railbed fix` applies.
#pragma once

#include <set>
#include <string>

#include "configure/plan.h"
#include "verify/findings.h"

namespace railbed {

// Returns the plan with only those changes that fix a red finding of their node, each with the findings that
// it fixes. Lists the root findings that no change fixes as `unanswered`. A change with Risk::kAccess is
// never kept: no finding is worth losing access to a node. `rules` limits the findings to these rules; empty:
// all.
ClusterPlan answers_to(const Findings& findings, ClusterPlan plan, const std::set<std::string>& rules = {});

}  // namespace railbed
