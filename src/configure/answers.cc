#include "configure/answers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "verify/mend.h"

namespace railbed {
namespace {

PlannedFinding planned(const Finding& finding) {
  return {finding.node, std::string(finding.rule), finding.subject, finding.message};
}

struct RedFinding {
  const Finding* finding;
  bool answered = false;
};

bool answers(const NodeChange& change, const Finding& finding) {
  const Rule* rule = find_rule(finding.rule);
  return rule != nullptr && mends(change.setting, change.subjects, change.needs, *rule, finding);
}

}  // namespace

ClusterPlan answers_to(const Findings& findings, ClusterPlan plan, const std::set<std::string>& rules) {
  std::map<std::string_view, std::vector<RedFinding>> by_node;
  for (const Finding& finding : findings)
    if (is_red(finding) && (rules.empty() || rules.contains(std::string(finding.rule))))
      by_node[finding.node].push_back({&finding});
  for (NodePlan& node : plan.nodes) {
    for (NodeChange& change : node.changes) {
      if (change.risk == Risk::kAccess) continue;
      if (change.files.empty() && change.steps.empty() && change.held.empty()) continue;  // a note alone
      for (RedFinding& red : by_node[node.node]) {
        if (!answers(change, *red.finding)) continue;
        change.answers.push_back(planned(*red.finding));
        red.answered = true;
      }
    }
    std::erase_if(node.changes, [](const NodeChange& change) { return change.answers.empty(); });
  }
  for (const auto& [node, reds] : by_node)
    for (const RedFinding& red : reds)
      if (!red.answered && !red.finding->caused_by) plan.unanswered.push_back(planned(*red.finding));
  return plan;
}

}  // namespace railbed
