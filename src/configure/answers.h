// Which findings of verify a plan answers: what `railbed fix` does of it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "configure/plan.h"
#include "verify/findings.h"

namespace railbed {

// The rules whose red findings the settings of a section clear.
std::span<const std::string_view> rules_answered_by(Section section);

// The changes that answer a red finding of their node, each with those that it answers, and the red findings
// that none answers. The management network is never among the changes: no finding is worth losing a node.
// `rules`: these alone; empty: all.
ClusterPlan answers_to(const Findings& findings, ClusterPlan plan, const std::set<std::string>& rules = {});

}  // namespace railbed
