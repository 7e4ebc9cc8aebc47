#include "verify/causes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

#include "verify/rule.h"

namespace railbed {
namespace {

bool is_red(const Finding& finding) {
  return finding.status == Status::kWarn || finding.status == Status::kFail;
}

bool touches(const Finding& finding, std::string_view thing) {
  return std::ranges::find(finding.touches, thing) != finding.touches.end();
}

bool names_node(const Finding& finding, const std::string& node) {
  return finding.node == node || touches(finding, "node:" + node);
}

bool belongs_to(const Finding& effect, const Finding& cause) {
  if (!cause.node.empty() && touches(cause, "node:" + cause.node) && names_node(effect, cause.node))
    return true;
  const bool same_node = effect.node == cause.node;
  for (const std::string& thing : cause.touches) {
    if (thing.starts_with("node:")) continue;
    if (!touches(effect, thing)) continue;
    if (same_node) return true;
    if (thing.starts_with("rail:") && (cause.node.empty() || names_node(effect, cause.node))) return true;
  }
  return false;
}

// The rules that may explain `id`, the likeliest first: breadth first through explained_by.
std::vector<std::string_view> ancestors_of(std::string_view id) {
  std::vector<std::string_view> order;
  std::vector<std::string_view> queue = {id};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Rule* rule = find_rule(queue[i]);
    if (rule == nullptr) continue;
    for (const std::string_view cause : rule->explained_by)
      if (std::ranges::find(queue, cause) == queue.end()) queue.push_back(cause);
  }
  return {queue.begin() + 1, queue.end()};
}

class CauseFinder {
 public:
  explicit CauseFinder(const std::vector<Finding>& findings) : findings_(findings) {
    for (std::size_t i = 0; i < findings.size(); ++i)
      if (is_red(findings[i])) by_rule_and_node_[{findings[i].rule, findings[i].node}].push_back(i);
  }

  std::optional<std::size_t> direct_cause(const Finding& effect) {
    auto [known, fresh] = ancestors_.try_emplace(effect.rule);
    if (fresh) known->second = ancestors_of(effect.rule);
    const std::vector<std::string> nodes = nodes_of(effect);
    for (const std::string_view rule : known->second)
      for (const std::string& node : nodes) {
        const auto candidates = by_rule_and_node_.find({std::string(rule), node});
        if (candidates == by_rule_and_node_.end()) continue;
        for (const std::size_t candidate : candidates->second)
          if (belongs_to(effect, findings_[candidate])) return candidate;
      }
    return std::nullopt;
  }

 private:
  static std::vector<std::string> nodes_of(const Finding& effect) {
    std::vector<std::string> nodes = {effect.node};
    for (const std::string& thing : effect.touches)
      if (thing.starts_with("node:")) nodes.push_back(thing.substr(5));
    if (!effect.node.empty()) nodes.emplace_back();
    return nodes;
  }

  const std::vector<Finding>& findings_;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_rule_and_node_;
  std::map<std::string, std::vector<std::string_view>> ancestors_;
};

struct Rank {
  int worst;           // of the finding and all that it explains
  int alone;           // 0 when it explains others
  int fewer_nodes;     // minus the number of nodes on which this rule says the same
  std::ptrdiff_t row;  // of the rule in the table
  std::size_t group;   // keeps a cause and its consequences together
  int consequence;     // 0 for the cause itself
  int own;
  auto operator<=>(const Rank&) const = default;
};

std::vector<Rank> rank(const std::vector<Finding>& findings) {
  std::map<std::string_view, std::ptrdiff_t> rows;
  for (const Rule& rule : all_rules()) rows.emplace(rule.id, static_cast<std::ptrdiff_t>(rows.size()));
  std::map<std::pair<std::string_view, Status>, std::set<std::string_view>> nodes;
  for (const Finding& one : findings)
    if (!one.caused_by && is_red(one)) nodes[{one.rule, one.status}].insert(one.node);
  std::vector<Rank> ranks(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& one = findings[i];
    const int own = severity(one.status);
    const auto found = nodes.find({one.rule, one.status});
    const int count = found == nodes.end() ? 0 : static_cast<int>(found->second.size());
    ranks[i] = {own, 1, -count, rows[one.rule], i, 0, own};
  }
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!findings[i].caused_by) continue;
    Rank& root = ranks[*findings[i].caused_by];
    root.worst = std::min(root.worst, ranks[i].own);
    root.alone = 0;
  }
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!findings[i].caused_by) continue;
    const Rank& root = ranks[*findings[i].caused_by];
    ranks[i] = {root.worst, root.alone, root.fewer_nodes, root.row, root.group, 1, ranks[i].own};
  }
  return ranks;
}

}  // namespace

void link_causes(std::vector<Finding>& findings) {
  CauseFinder finder(findings);
  std::vector<std::optional<std::size_t>> direct(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (is_red(findings[i]) || findings[i].status == Status::kUnknown)
      direct[i] = finder.direct_cause(findings[i]);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    std::optional<std::size_t> root = direct[i];
    while (root && direct[*root]) root = direct[*root];
    findings[i].caused_by = root;
  }
}

void put_in_order(std::vector<Finding>& findings) {
  const std::vector<Rank> ranks = rank(findings);
  std::vector<std::size_t> order(findings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) -> const Rank& { return ranks[i]; });
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<Finding> sorted;
  sorted.reserve(findings.size());
  for (const std::size_t i : order) {
    sorted.push_back(std::move(findings[i]));
    if (sorted.back().caused_by) sorted.back().caused_by = place[*sorted.back().caused_by];
  }
  findings = std::move(sorted);
}

}  // namespace railbed
