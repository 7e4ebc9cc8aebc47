// Two steps arrange findings. First each finding follows caused_by to its root. Then findings are folded:
// roots whose status, rule, message and remedy are equal without the node's name become one cause with a list
// of nodes, and the consequences of a cause are folded by status, rule and subject. A remedy's commands that
// differ by nature from node to node (of_one_node) do not keep roots apart.
#include "report/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "report/hostlist.h"

namespace railbed {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// Follows caused_by up to the finding without an explanation; kNowhere in a circle.
std::size_t root_of(const Findings& findings, std::size_t index) {
  for (std::size_t steps = 0; steps <= findings.size(); ++steps) {
    const auto& cause = findings[index].caused_by;
    if (!cause || *cause >= findings.size()) return index;
    index = *cause;
  }
  return kNowhere;
}

void add(Folded& folded, const Finding& finding) {
  if (folded.example == nullptr) folded.example = &finding;
  const Remedy& remedy = finding.remedy;
  if (remedy.of_one_node && remedy.commands != folded.example->remedy.commands) folded.commands_differ = true;
  if (!finding.node.empty()) folded.nodes.push_back(finding.node);
  ++folded.count;
}

// Key by which findings are equal except for their node.
using Sameness = std::tuple<Status, std::string_view, std::string, std::string, std::vector<std::string>>;

// Removes every mention of the node's name, so that messages of several nodes compare as equal: "ssh: connect
// to host vm2 port 22: …".
std::string nameless(std::string text, const std::string& node) {
  if (node.empty()) return text;
  const auto in_name = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '-' || text[at] == '_');
  };
  for (std::size_t at = 0; (at = text.find(node, at)) != std::string::npos;) {
    const bool whole = !(at > 0 && in_name(at - 1)) && !in_name(at + node.size());
    if (whole) text.erase(at, node.size());
    if (!whole) at += node.size();
  }
  return text;
}

Sameness sameness(const Finding& f) {
  std::vector<std::string> commands;
  if (!f.remedy.of_one_node)
    for (const std::string& command : f.remedy.commands) commands.push_back(nameless(command, f.node));
  return {f.status, f.rule, nameless(without_node(f.message, f.node), f.node),
          nameless(f.remedy.text, f.node), std::move(commands)};
}

auto kinship(const Finding& f) { return std::tie(f.status, f.rule, f.subject); }

// Maps each root to its cause, by the key of equal findings.
class Causes {
 public:
  std::size_t of(const Finding& root) {
    const auto [it, is_new] = index_.emplace(sameness(root), causes_.size());
    if (is_new) causes_.emplace_back();
    return it->second;
  }
  Cause& operator[](std::size_t i) { return causes_[i]; }
  std::vector<Cause> take() { return std::move(causes_); }

 private:
  std::map<Sameness, std::size_t> index_;
  std::vector<Cause> causes_;
};

}  // namespace

std::string without_node(std::string message, const std::string& node) {
  if (node.empty()) return message;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  };
  if (message.starts_with(node + ' ')) return without_node(message.substr(node.size() + 1), node);
  for (const std::string_view before : {" of ", " on "}) {
    const std::string phrase = std::string(before) + node;
    for (std::size_t at = 0; (at = message.find(phrase, at)) != std::string::npos;) {
      const std::size_t end = at + phrase.size();
      const bool ends = end == message.size() || !is_word(message[end]);
      const bool name_goes_on = end + 1 < message.size() && message[end] == '.' && is_word(message[end + 1]);
      if (ends && !name_goes_on)
        message.erase(at, phrase.size());
      else
        at = end;
    }
  }
  return message;
}

std::vector<Cause> root_causes(const Findings& findings) {
  Causes causes;
  using Kin = decltype(kinship(std::declval<const Finding&>()));
  std::map<std::pair<std::size_t, Kin>, std::size_t> consequence_index;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    std::size_t root = root_of(findings, i);
    if (root == kNowhere) root = i;
    const std::size_t at = causes.of(findings[root]);
    Cause& cause = causes[at];
    if (severity(findings[i].status) < severity(cause.worst)) cause.worst = findings[i].status;
    if (root == i) {
      add(cause.root, findings[i]);
      continue;
    }
    const auto [it, is_new] =
        consequence_index.emplace(std::pair{at, kinship(findings[i])}, cause.consequences.size());
    if (is_new) cause.consequences.emplace_back();
    add(cause.consequences[it->second], findings[i]);
    ++cause.explained;
  }
  auto sorted = causes.take();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Cause& a, const Cause& b) { return severity(a.worst) < severity(b.worst); });
  return sorted;
}

std::string headline(const Folded& folded) {
  const Finding& finding = *folded.example;
  if (folded.nodes.empty()) return finding.message;
  return listed_hosts(folded.nodes) + ": " + without_node(finding.message, finding.node);
}

}  // namespace railbed
