// Which finding is the cause, and which ones only follow from it.
//
// Two questions decide. May the one rule explain the other? Each rule names the rules that may
// (explained_by); followed breadth first they give its ancestors, the likeliest first. And do the two
// findings meet? They do when they share a thing of one node, or a rail on which the consequence names the
// cause's node, or when the cause concerns the whole node. The first red finding of the first ancestor that
// meets a finding is its direct cause.
//
// The graph of rules has no cycle (rule_test.cc), so following direct causes ends at a finding that nothing
// explains: the root, the one line that people should read. Everything below it points there.
//
// A fleet has millions of findings and few that are red. Candidates are therefore looked up by rule and node,
// and only what is red or unknown is compared and ranked; the calm rest is counted into place, never sorted.
#include "verify/causes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

#include "verify/rule.h"

namespace railbed {
namespace {

bool is_red(const Finding& finding) {
  return finding.status == Status::kWarn || finding.status == Status::kFail;
}

bool touches(const Finding& finding, std::string_view thing) {
  return std::ranges::find(finding.touches.list(), thing) != finding.touches.list().end();
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
  explicit CauseFinder(const FindingList& findings) : findings_(findings) {
    for (std::size_t i = 0; i < findings.size(); ++i)
      if (is_red(*findings[i])) by_rule_and_node_[{findings[i]->rule, findings[i]->node}].push_back(i);
  }

  std::optional<std::size_t> direct_cause(const Finding& effect) {
    auto [known, fresh] = ancestors_.try_emplace(effect.rule);
    if (fresh) known->second = ancestors_of(effect.rule);
    const std::vector<std::string> nodes = nodes_of(effect);
    for (const std::string_view rule : known->second)
      for (const std::string& node : nodes) {
        const auto candidates = by_rule_and_node_.find({rule, node});
        if (candidates == by_rule_and_node_.end()) continue;
        for (const std::size_t candidate : candidates->second)
          if (belongs_to(effect, *findings_[candidate])) return candidate;
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

  const FindingList& findings_;
  std::map<std::pair<std::string_view, std::string>, std::vector<std::size_t>> by_rule_and_node_;
  std::map<std::string_view, std::vector<std::string_view>> ancestors_;
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

// The row of each finding's rule; neighbours mostly share theirs.
class Rows {
 public:
  Rows() {
    for (const Rule& rule : all_rules()) rows_.emplace(rule.id, static_cast<std::ptrdiff_t>(rows_.size()));
  }
  // A rule that this table does not know, as an older version's in a file, comes last.
  std::ptrdiff_t of(std::string_view rule) {
    if (rule == last_rule_) return last_row_;
    last_rule_ = rule;
    const auto found = rows_.find(rule);
    return last_row_ = found == rows_.end() ? static_cast<std::ptrdiff_t>(count()) : found->second;
  }
  std::size_t count() const { return rows_.size(); }

 private:
  std::map<std::string_view, std::ptrdiff_t> rows_;
  std::string_view last_rule_;
  std::ptrdiff_t last_row_ = 0;
};

// Findings that ask for attention, in the order of their ranks.
std::vector<std::size_t> ranked(const FindingList& findings, const std::vector<std::size_t>& urgent) {
  Rows rows;
  std::map<std::pair<std::string_view, Status>, std::set<std::string_view>> nodes;
  for (const std::size_t i : urgent)
    if (const Finding& one = *findings[i]; !one.caused_by && is_red(one))
      nodes[{one.rule, one.status}].insert(one.node);
  std::unordered_map<std::size_t, Rank> ranks;
  ranks.reserve(urgent.size());
  for (const std::size_t i : urgent) {
    const Finding& one = *findings[i];
    const int own = severity(one.status);
    const auto found = nodes.find({one.rule, one.status});
    const int count = found == nodes.end() ? 0 : static_cast<int>(found->second.size());
    ranks[i] = {own, 1, -count, rows.of(one.rule), i, 0, own};
  }
  for (const std::size_t i : urgent) {
    if (!findings[i]->caused_by) continue;
    Rank& root = ranks[*findings[i]->caused_by];
    root.worst = std::min(root.worst, ranks[i].own);
    root.alone = 0;
  }
  for (const std::size_t i : urgent) {
    if (!findings[i]->caused_by) continue;
    const Rank root = ranks[*findings[i]->caused_by];
    ranks[i] = {root.worst, root.alone, root.fewer_nodes, root.row, root.group, 1, ranks[i].own};
  }
  std::vector<std::size_t> order = urgent;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) -> const Rank& { return ranks.find(i)->second; });
  return order;
}

// What is fine or does not apply: by status, then in the table's order. There may be millions, so they are
// counted into place.
void append_calm(const FindingList& findings, const std::vector<std::size_t>& calm,
                 std::vector<std::size_t>& order) {
  Rows rows;
  const auto bucket = [&](std::size_t i) {
    const std::size_t row = static_cast<std::size_t>(rows.of(findings[i]->rule));
    return row + (findings[i]->status == Status::kPass ? 0 : rows.count() + 1);
  };
  std::vector<std::size_t> start(2 * rows.count() + 3);
  for (const std::size_t i : calm) ++start[bucket(i) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  const std::size_t before = order.size();
  order.resize(before + calm.size());
  for (const std::size_t i : calm) order[before + start[bucket(i)]++] = i;
}

}  // namespace

void link_causes(const FindingList& findings) {
  CauseFinder finder(findings);
  std::vector<std::optional<std::size_t>> direct(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (is_red(*findings[i]) || findings[i]->status == Status::kUnknown)
      direct[i] = finder.direct_cause(*findings[i]);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    std::optional<std::size_t> root = direct[i];
    while (root && direct[*root]) root = direct[*root];
    findings[i]->caused_by = root;
  }
}

void put_in_order(FindingList& findings) {
  std::vector<bool> is_cause(findings.size());
  for (const Finding* one : findings)
    if (one->caused_by) is_cause[*one->caused_by] = true;
  std::vector<std::size_t> urgent;
  std::vector<std::size_t> calm;
  calm.reserve(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const bool matters = severity(findings[i]->status) < severity(Status::kPass);
    (matters || findings[i]->caused_by || is_cause[i] ? urgent : calm).push_back(i);
  }
  std::vector<std::size_t> order = ranked(findings, urgent);
  append_calm(findings, calm, order);
  std::unordered_map<std::size_t, std::size_t> place;  // of causes, which are urgent
  for (std::size_t k = 0; k < urgent.size(); ++k) place.emplace(order[k], k);
  for (const std::size_t i : urgent)
    if (auto& cause = findings[i]->caused_by) cause = place.at(*cause);
  FindingList sorted;
  sorted.reserve(findings.size());
  for (const std::size_t i : order) sorted.push_back(findings[i]);
  findings = std::move(sorted);
}

}  // namespace railbed
