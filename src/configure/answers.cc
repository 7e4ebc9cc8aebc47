#include "configure/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/mend.h"

namespace railbed {
namespace {

using ByNode = std::map<std::string_view, std::vector<const Finding*>>;

PlannedFinding planned(const Finding& finding, std::string why = {}) {
  return {finding.node, std::string(finding.rule), finding.subject, finding.message, std::move(why)};
}

bool answers(const NodeChange& change, const Finding& finding) {
  const Rule* rule = find_rule(finding.rule);
  return rule != nullptr && mends(change.setting, change.subjects, change.needs, *rule, finding);
}

// Returns whether the change does something, or would if a person let it: a note alone does not.
bool does_something(const NodeChange& change) {
  return !change.files.empty() || !change.steps.empty() || !change.held.empty();
}

ByNode red_findings(const Findings& findings, const FixScope& scope) {
  ByNode by_node;
  for (const Finding& finding : findings)
    if (is_red(finding) && (scope.rules.empty() || scope.rules.contains(std::string(finding.rule))))
      by_node[finding.node].push_back(&finding);
  return by_node;
}

const NodeChange* find_answer(const std::vector<NodeChange>& changes, const Finding& finding) {
  const auto found = std::ranges::find_if(
      changes, [&](const NodeChange& change) { return does_something(change) && answers(change, finding); });
  return found == changes.end() ? nullptr : &*found;
}

// Returns whether all settings of the rule are of sections that were left out.
bool is_left_out(const Rule& rule, const FixScope& scope) {
  return !scope.sections.empty() && !rule.settings.empty() &&
         std::ranges::none_of(rule.settings, [&](std::string_view setting) {
           const auto section = section_of(setting);
           return section && scope.sections.contains(*section);
         });
}

// Returns PlannedFinding::why of a finding that no change fixes. `plan` has all changes of its node, those with
// Risk::kAccess, too.
std::string why_unanswered(const NodePlan& plan, const Finding& finding, const FixScope& scope) {
  const Rule* const rule = find_rule(finding.rule);
  if (rule == nullptr || rule->settings.empty() || finding.remedy.by_hand_only) return "";
  if (!plan.error.empty()) return "the node could not be planned: " + plan.error;
  if (is_left_out(*rule, scope)) return "--only leaves out the section that it is about";
  // A setting that only waits has no step left to do.
  for (const NodeChange& waiting : plan.awaiting)
    if (answers(waiting, finding)) return "waits for a reboot or a new login: " + waiting.title;
  if (const NodeChange* const change = find_answer(plan.changes, finding))
    return fmt::format(
        "{} changes the network that railbed logs in over: `railbed apply --management` does it",
        change->title);
  return "";
}

// Returns whether the change acts on other nodes of its rails, too, as a subnet manager's partition does.
bool acts_on_rails(const NodeChange& change) {
  return change.risk != Risk::kAccess && does_something(change) &&
         std::ranges::any_of(change.subjects,
                             [](const std::string& subject) { return subject.starts_with("rail:"); });
}

// Adds findings of other nodes to the changes that fix them, and returns these findings.
std::set<const Finding*> answer_from_afar(ClusterPlan& plan, const ByNode& by_node) {
  std::set<const Finding*> answered;
  for (NodePlan& node : plan.nodes)
    for (NodeChange& change : node.changes) {
      if (!acts_on_rails(change)) continue;
      for (const auto& [name, reds] : by_node)
        for (const Finding* const red : reds) {
          if (name == node.node || !answers(change, *red)) continue;
          change.answers.push_back(planned(*red));
          answered.insert(red);
        }
    }
  return answered;
}

// Keeps the changes of the node that fix its findings, and adds the root findings without one to `unanswered`.
void answer_node(NodePlan& plan, const std::vector<const Finding*>& reds, const FixScope& scope,
                 const std::set<const Finding*>& from_afar, std::vector<PlannedFinding>& unanswered) {
  for (const Finding* const red : reds) {
    bool answered = from_afar.contains(red);
    for (NodeChange& change : plan.changes) {
      if (change.risk == Risk::kAccess || !does_something(change) || !answers(change, *red)) continue;
      change.answers.push_back(planned(*red));
      answered = true;
    }
    if (!answered && !red->caused_by) unanswered.push_back(planned(*red, why_unanswered(plan, *red, scope)));
  }
  std::erase_if(plan.changes, [](const NodeChange& change) { return change.answers.empty(); });
}

}  // namespace

ClusterPlan answers_to(const Findings& findings, ClusterPlan plan, const FixScope& scope) {
  ByNode by_node = red_findings(findings, scope);
  const auto from_afar = answer_from_afar(plan, by_node);
  for (NodePlan& node : plan.nodes) {
    answer_node(node, by_node[node.node], scope, from_afar, plan.unanswered);
    by_node.erase(node.node);
  }
  for (const auto& [node, reds] : by_node)  // of the whole cluster, or of a node without a plan
    for (const Finding* const red : reds)
      if (!red->caused_by && !from_afar.contains(red)) plan.unanswered.push_back(planned(*red));
  return plan;
}

}  // namespace railbed
