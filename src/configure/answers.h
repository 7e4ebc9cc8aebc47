// Selects the changes of a plan that fix findings of verify: the part that `railbed fix` applies.
#pragma once

#include <set>
#include <string>

#include "configure/plan.h"
#include "verify/findings.h"

namespace railbed {

// The part of the findings and of the settings that is in question.
struct FixScope {
  std::set<std::string> rules = {};  // findings of these rules; empty: of all
  std::set<Section> sections = {};   // the sections that the plan was made of; empty: all
};

// Returns the plan with only those changes that fix a red finding of their node, or of a rail that they act on as
// a whole, each with the findings that it fixes. Lists the root findings that no change fixes as `unanswered`, and why, if railbed has settings for
// the rule: the node has no plan, the setting only waits for a reboot or a new login, it changes the network that
// railbed logs in over (no finding is worth losing access to a node), or its section was left out.
ClusterPlan answers_to(const Findings& findings, ClusterPlan plan, const FixScope& scope = {});

}  // namespace railbed
