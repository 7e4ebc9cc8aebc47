// Which findings of verify a plan answers: what `railbed fix` does of it.
#pragma once

#include <set>
#include <string>

#include "configure/plan.h"
#include "verify/findings.h"

namespace railbed {

// The changes that answer a red finding of their node, each with those that it answers, and the red findings
// that none answers. The management network is never among the changes: no finding is worth losing a node.
// `rules`: these alone; empty: all.
ClusterPlan answers_to(const Findings& findings, ClusterPlan plan, const std::set<std::string>& rules = {});

}  // namespace railbed
