// Finds the nodes that differ from the others in one property.
//
// Each node has one vote: its value. If all values are equal, the property passes. If more than half of the
// nodes agree, they are taken to be right, and each other node gets a finding of its own with its value and
// the common one. If no value has such a majority, no node can be called different, so the cluster gets a
// single finding that lists the values with their nodes and touches all of them.
//
// Votes with a key (the same board, product or operating system) are compared only within that key: nodes of
// two kinds need not be alike.
#include "verify/uniform.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/nccl_topics.h"

namespace railbed {
namespace {

// Returns the first four names, and the number of the others.
std::string nodes_text(const std::vector<const Vote*>& votes) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < votes.size() && i < 4; ++i) names.push_back(*votes[i]->node->name);
  const std::string text = fmt::format("{}", fmt::join(names, ", "));
  return votes.size() > 4 ? fmt::format("{} and {} more", text, votes.size() - 4) : text;
}

using ByValue = std::map<std::string, std::vector<const Vote*>>;

// Reports one finding for the cluster, with every value and every node.
void complain_of_all(Case& all, const ByValue& groups, const Uniformity& what) {
  std::vector<std::string> texts;
  for (const auto& [value, members] : groups) {
    texts.push_back(fmt::format("{} on {}", value, nodes_text(members)));
    all.add_evidence(members.front()->from);
    for (const Vote* vote : members) {
      all.touch("node:" + *vote->node->name);
      if (what.touches_nccl) all.touch(vote->node->nccl_touches);
    }
  }
  const std::string observed = fmt::format("{}", fmt::join(texts, ", "));
  all.red(what.status,
          {.message = fmt::format("nodes differ in {}: {}; {}", what.subject, observed, what.why),
           .expected = "the same on every node",
           .observed = observed,
           .remedy = what.remedy});
}

// Reports one finding for a node that differs from most; `usual` is the text "N of M nodes have VALUE".
void complain_of_one(Judge& judge, const Vote& vote, const std::string& most, const std::string& usual,
                     const Uniformity& what) {
  Things touches;
  if (what.touches_gpus) touches = Things{"gpus"};
  if (what.touches_nccl) touches = vote.node->nccl_touches;
  Case verdict = judge.on(*vote.node, std::string(what.subject), std::move(touches));
  verdict.add_evidence(vote.from);
  Remedy remedy = what.remedy;
  remedy.commands.insert(remedy.commands.end(), vote.commands.begin(), vote.commands.end());
  verdict.red(what.status, {.message = fmt::format("{} differs in {}: it has {}, {}; {}", *vote.node->name,
                                                   what.subject, vote.value, usual, what.why),
                            .expected = most,
                            .observed = vote.value,
                            .remedy = std::move(remedy)});
}

}  // namespace

void compare(Judge& judge, const std::vector<Vote>& votes, const Uniformity& what) {
  ByValue groups;
  for (const Vote& vote : votes) groups[vote.value].push_back(&vote);
  Case all = judge.on_cluster(std::string(what.subject));
  if (votes.size() < 2) return all.not_applicable("fewer than two nodes to compare");
  if (groups.size() == 1) return all.pass(votes.front().value);
  const auto most =
      std::ranges::max_element(groups, {}, [](const auto& group) { return group.second.size(); });
  if (most->second.size() * 2 <= votes.size()) return complain_of_all(all, groups, what);
  const std::string usual =
      fmt::format("{} of {} nodes have {}", most->second.size(), votes.size(), most->first);
  for (const auto& [value, members] : groups)
    if (value != most->first)
      for (const Vote* vote : members) complain_of_one(judge, *vote, most->first, usual, what);
}

void compare_groups(Judge& judge, const Grouped& grouped, const Uniformity& what) {
  if (grouped.empty()) compare(judge, {}, what);
  for (const auto& [key, votes] : grouped) {
    Uniformity each = what;
    const std::string subject =
        key.empty() ? std::string(what.subject) : fmt::format("{} ({})", what.subject, key);
    each.subject = subject;
    compare(judge, votes, each);
  }
}

std::optional<Answer> answer_of(const Reading<std::string>& reading) {
  return reading.ok() ? std::optional<Answer>({*reading, reading.from()}) : std::nullopt;
}

void compare_nodes(const Survey& survey, Judge& judge, const Uniformity& what, const AskNode& ask) {
  std::vector<Vote> votes;
  for (const NodeView& node : survey.nodes)
    if (auto answer = ask(node)) votes.push_back({&node, std::move(answer->value), std::move(answer->from)});
  compare(judge, votes, what);
}

void compare_nodes(const Survey& survey, Judge& judge, const Uniformity& what,
                   const std::function<std::string(const NodeView&)>& kind, const AskNode& ask) {
  Grouped groups;
  for (const NodeView& node : survey.nodes)
    if (auto answer = ask(node))
      groups[kind(node)].push_back({&node, std::move(answer->value), std::move(answer->from)});
  compare_groups(judge, groups, what);
}

}  // namespace railbed
