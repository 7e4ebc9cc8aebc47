#include "report/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "report/hostlist.h"

namespace railbed {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// Follows caused_by up to the finding that nothing explains.
std::size_t root_of(const std::vector<Finding>& findings, std::size_t index) {
  for (std::size_t steps = 0; steps <= findings.size(); ++steps) {
    const auto& cause = findings[index].caused_by;
    if (!cause || *cause >= findings.size()) return index;
    index = *cause;
  }
  return kNowhere;
}

void add(Folded& folded, const Finding& finding) {
  if (folded.example == nullptr) folded.example = &finding;
  if (!finding.node.empty()) folded.nodes.push_back(finding.node);
  ++folded.count;
}

auto sameness(const Finding& f) {
  return std::tie(f.status, f.rule, f.message, f.remedy.text, f.remedy.commands);
}

auto kinship(const Finding& f) { return std::tie(f.status, f.rule, f.subject); }

// Which cause each root goes to, by what it says.
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
  std::map<decltype(sameness(std::declval<const Finding&>())), std::size_t> index_;
  std::vector<Cause> causes_;
};

}  // namespace

std::vector<Cause> root_causes(const std::vector<Finding>& findings) {
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
  constexpr std::size_t kLongest = 48;
  const std::string& message = folded.example->message;
  if (folded.nodes.empty()) return message;
  const std::string hosts = fold_hosts(folded.nodes);
  if (folded.nodes.size() == 1 || hosts.size() <= kLongest) return hosts + ": " + message;
  return fmt::format("{} nodes ({} first): {}", folded.nodes.size(), folded.nodes.front(), message);
}

StatusCounts count_statuses(const std::vector<Finding>& findings) {
  StatusCounts counts;
  for (const Finding& finding : findings) {
    switch (finding.status) {
      case Status::kPass:
        ++counts.pass;
        break;
      case Status::kWarn:
        ++counts.warn;
        break;
      case Status::kFail:
        ++counts.fail;
        break;
      case Status::kUnknown:
        ++counts.unknown;
        break;
      case Status::kNotApplicable:
        ++counts.not_applicable;
        break;
    }
  }
  return counts;
}

}  // namespace railbed
