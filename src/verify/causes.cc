// Finds the cause of each finding and sorts findings.
//
// Two questions decide whether one finding is the cause of another. First, may the one rule explain the
// other? Each rule names the rules that may (explained_by); followed breadth first, they give its ancestors,
// the most likely first. Second, do the two findings meet? They do if they share a thing of one node, or a
// rail or an export of storage on which the consequence names the cause's node, or if the cause concerns the whole node. The direct
// cause of a finding is the first red finding of the first ancestor that meets it.
//
// A cause is as bad as the worst that it explains: a warning that explains a failure becomes one. Otherwise the failure,
// folded below it, would be missing from alerts.
//
// What could not be looked at has a cause, too: the same file or call that could not be read. Unknown findings of
// one node that a missing file explains are folded below the first of them, and those whose files are below one
// folder that is missing as a whole (/sys) as well.
//
// The graph of rules has no cycle (rule_test.cc), so following direct causes ends at a finding that nothing
// explains: the root, which is the one line that people should read. All findings below it point to it.
//
// A fleet has millions of findings and few that are red. Candidates are therefore looked up by rule and node,
// and only red or unknown findings are compared and ranked. The rest is placed by a counting sort.
#include "verify/causes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

namespace railbed {
namespace {

// Returns true if the finding is about the thing.
bool touches(const Finding& finding, std::string_view thing) {
  return std::ranges::find(finding.touches.list(), thing) != finding.touches.list().end();
}

bool names_node(const Finding& finding, const std::string& node) {
  return finding.node == node || touches(finding, "node:" + node);
}

// Returns true if the two findings meet, as described at the head of the file.
bool belongs_to(const Finding& effect, const Finding& cause) {
  if (!cause.node.empty() && touches(cause, "node:" + cause.node) && names_node(effect, cause.node))
    return true;
  const bool same_node = effect.node == cause.node;
  for (const std::string& thing : cause.touches) {
    if (thing.starts_with("node:")) continue;
    if (!touches(effect, thing)) continue;
    if (same_node) return true;
    const bool joins = thing.starts_with("rail:") || thing.starts_with("storage:");
    if (joins && (cause.node.empty() || names_node(effect, cause.node))) return true;
  }
  return false;
}

// Returns the rules that may explain `id`, the most likely first: breadth first through explained_by.
std::vector<std::string_view> ancestors_of(std::string_view id, std::span<const Rule> rules) {
  std::vector<std::string_view> order;
  std::vector<std::string_view> queue = {id};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Rule* rule = find_rule(queue[i], rules);
    if (rule == nullptr) continue;
    for (const std::string_view cause : rule->explained_by)
      if (std::ranges::find(queue, cause) == queue.end()) queue.push_back(cause);
  }
  return {queue.begin() + 1, queue.end()};
}

// Looks up the direct cause of findings. Indexes the red ones by rule and node. The list must outlive it.
class CauseFinder {
 public:
  CauseFinder(const FindingList& findings, std::span<const Rule> rules) : findings_(findings), rules_(rules) {
    for (std::size_t i = 0; i < findings.size(); ++i)
      if (is_red(*findings[i])) by_rule_and_node_[{findings[i]->rule, findings[i]->node}].push_back(i);
  }

  std::optional<std::size_t> direct_cause(const Finding& effect) {
    auto [known, fresh] = ancestors_.try_emplace(effect.rule);
    if (fresh) known->second = ancestors_of(effect.rule, rules_);
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
  // Returns the nodes on which a cause may be: the effect's own, those that it touches, and "" for the
  // cluster.
  static std::vector<std::string> nodes_of(const Finding& effect) {
    std::vector<std::string> nodes = {effect.node};
    for (const std::string& thing : effect.touches)
      if (thing.starts_with("node:")) nodes.push_back(thing.substr(5));
    if (!effect.node.empty()) nodes.emplace_back();
    return nodes;
  }

  const FindingList& findings_;
  std::span<const Rule> rules_;
  std::map<std::pair<std::string_view, std::string>, std::vector<std::size_t>> by_rule_and_node_;
  std::map<std::string_view, std::vector<std::string_view>> ancestors_;
};

// Sort key of a finding that needs attention; members are compared in this order.
struct Rank {
  int status;       // severity of the finding, or of its cause, which is as bad as the worst that it explains
  int alone;        // 0 when it explains others
  int fewer_nodes;  // minus the number of nodes where this rule has this status
  std::ptrdiff_t row;  // row of the rule in the table
  std::size_t group;   // keeps a cause and its consequences together
  int consequence;     // 0 for the cause itself
  int own;
  auto operator<=>(const Rank&) const = default;
};

// Returns the row of each finding's rule. Caches the last one, since neighbors mostly share a rule.
class Rows {
 public:
  explicit Rows(std::span<const Rule> rules) {
    for (const Rule& rule : rules) rows_.emplace(rule.id, static_cast<std::ptrdiff_t>(rows_.size()));
  }
  // A rule that is not in this table, for example from a file of an older version, gets the last place.
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

// Sorts the findings that need attention by rank. A consequence takes the rank of its cause, and follows it.
std::vector<std::size_t> ranked(const FindingList& findings, const std::vector<std::size_t>& urgent,
                                Rows& rows) {
  std::map<std::pair<std::string_view, Status>, std::set<std::string_view>> nodes;
  for (const std::size_t i : urgent)
    if (const Finding& finding = *findings[i]; !finding.caused_by && is_red(finding))
      nodes[{finding.rule, finding.status}].insert(finding.node);
  std::unordered_map<std::size_t, Rank> ranks;
  ranks.reserve(urgent.size());
  for (const std::size_t i : urgent) {
    const Finding& finding = *findings[i];
    const int own = severity(finding.status);
    const auto found = nodes.find({finding.rule, finding.status});
    const int count = found == nodes.end() ? 0 : static_cast<int>(found->second.size());
    ranks[i] = {own, 1, -count, rows.of(finding.rule), i, 0, own};
  }
  for (const std::size_t i : urgent) {
    if (!findings[i]->caused_by) continue;
    Rank& root = ranks[*findings[i]->caused_by];
    root.alone = 0;
  }
  for (const std::size_t i : urgent) {
    if (!findings[i]->caused_by) continue;
    const Rank root = ranks[*findings[i]->caused_by];
    ranks[i] = {root.status, root.alone, root.fewer_nodes, root.row, root.group, 1, ranks[i].own};
  }
  std::vector<std::size_t> order = urgent;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) -> const Rank& { return ranks.find(i)->second; });
  return order;
}

// Appends the findings that pass or do not apply: by status, then in the table's order. Counting sort, as
// there may be millions.
void append_calm(const FindingList& findings, const std::vector<std::size_t>& calm, Rows& rows,
                 std::vector<std::size_t>& order) {
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

// Returns true for the folders in which /sys lists all devices of a kind. A machine has them; only without /sys they are
// missing, and then all of them.
bool lists_devices(std::string_view path) {
  constexpr std::string_view kClass = "/sys/class/";
  return path == "/sys/bus/pci/devices" ||
         (path.starts_with(kClass) && path.find('/', kClass.size()) == path.npos);
}

// Returns what kept a rule from looking: the reason, and the file system or the call it was met in. Two paths of /sys that are
// both absent are one reason: the whole of it is missing. "could not look: absent: No such file (/sys/class/net)" becomes
// "absent: No such file (/sys". Empty if the message names no place.
std::string hindrance_of(const Finding& finding) {
  constexpr std::string_view kBegin = "could not look: ";
  if (!finding.message.starts_with(kBegin) || finding.evidence.empty()) return "";
  const std::string_view why = std::string_view(finding.message).substr(kBegin.size());
  const auto place = why.rfind(" (");
  if (place == std::string_view::npos) return std::string(why) + " " + finding.evidence;
  // A gap of a report is one reason, wherever the rules looked for it.
  if (why.starts_with("unknown: ")) return std::string(why.substr(0, place));
  const std::string_view path = why.substr(place + 2);
  const auto second = path.starts_with('/') ? path.find('/', 1) : std::string_view::npos;
  const bool whole = why.starts_with("absent:") && lists_devices(path.substr(0, path.rfind(')')));
  return std::string(why.substr(0, place + 2)) + std::string(whole ? path.substr(0, second) : path);
}

// Folds unknown findings that nothing red explains below the first one of their node with the same hindrance.
void fold_unknown(const FindingList& findings) {
  std::map<std::pair<std::string_view, std::string>, std::size_t> first;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    Finding& finding = *findings[i];
    if (finding.status != Status::kUnknown || finding.caused_by) continue;
    std::string hindrance = hindrance_of(finding);
    if (hindrance.empty()) continue;
    const auto [place, fresh] = first.try_emplace({finding.node, std::move(hindrance)}, i);
    if (!fresh) finding.caused_by = place->second;
  }
}

}  // namespace

void link_causes(const FindingList& findings, std::span<const Rule> rules) {
  CauseFinder finder(findings, rules);
  std::vector<std::optional<std::size_t>> direct(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (is_red(*findings[i]) || findings[i]->status == Status::kUnknown)
      direct[i] = finder.direct_cause(*findings[i]);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    std::optional<std::size_t> root = direct[i];
    while (root && direct[*root]) root = direct[*root];
    findings[i]->caused_by = root;
  }
  for (const Finding* finding : findings)
    if (finding->caused_by && is_red(*finding) &&
        severity(finding->status) < severity(findings[*finding->caused_by]->status))
      findings[*finding->caused_by]->status = finding->status;
  fold_unknown(findings);
}

void put_in_order(FindingList& findings, std::span<const Rule> rules) {
  std::vector<bool> is_cause(findings.size());
  for (const Finding* finding : findings)
    if (finding->caused_by) is_cause[*finding->caused_by] = true;
  std::vector<std::size_t> urgent;
  std::vector<std::size_t> calm;
  calm.reserve(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const bool matters = severity(findings[i]->status) < severity(Status::kPass);
    (matters || findings[i]->caused_by || is_cause[i] ? urgent : calm).push_back(i);
  }
  Rows rows(rules);
  std::vector<std::size_t> order = ranked(findings, urgent, rows);
  append_calm(findings, calm, rows, order);
  // new indexes of causes; all causes are urgent
  std::unordered_map<std::size_t, std::size_t> place;
  for (std::size_t k = 0; k < urgent.size(); ++k) place.emplace(order[k], k);
  for (const std::size_t i : urgent)
    if (auto& cause = findings[i]->caused_by) cause = place.at(*cause);
  FindingList sorted;
  sorted.reserve(findings.size());
  for (const std::size_t i : order) sorted.push_back(findings[i]);
  findings = std::move(sorted);
}

}  // namespace railbed
