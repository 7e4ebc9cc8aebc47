#include "verify/verify.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "verify/causes.h"
#include "verify/judge.h"
#include "verify/rule.h"
#include "verify/survey.h"

namespace railbed {

namespace {

// Below this many nodes the rules take less time than starting threads.
constexpr std::size_t kNodesWorthThreads = 64;
constexpr std::size_t kMostThreads = 16;

// What each rule finds, in the order of the table. Rules are pure functions of the survey: who runs them does
// not show.
std::vector<std::vector<Finding>> judge_all(const Survey& survey) {
  const auto rules = all_rules();
  std::vector<std::vector<Finding>> found(rules.size());
  std::atomic<std::size_t> next = 0;
  std::size_t ends = survey.nodes.size();
  for (const NodeView& node : survey.nodes) ends += node.ends.size();
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < rules.size();) {
      Judge judge;
      judge.start(rules[i]);
      judge.expect(ends);
      rules[i].check(survey, judge);
      found[i] = judge.take();
    }
  };
  const std::size_t processors = std::min<std::size_t>(std::thread::hardware_concurrency(), kMostThreads);
  std::vector<std::jthread> helpers;
  if (survey.nodes.size() >= kNodesWorthThreads)
    for (std::size_t i = 1; i < processors; ++i) helpers.emplace_back(work);
  work();
  helpers.clear();
  return found;
}

}  // namespace

Verdict verify(const Evidence& evidence) {
  const Survey survey(evidence);
  auto found = judge_all(survey);
  FindingList findings;
  for (auto& list : found)
    for (Finding& one : list) findings.push_back(&one);
  link_causes(findings);
  return {put_in_order(findings)};
}

int Verdict::exit_code() const {
  const auto any = [this](Status status) {
    return std::ranges::find(findings, status, &Finding::status) != findings.end();
  };
  if (any(Status::kFail)) return kExitFailures;
  if (any(Status::kUnknown)) return kExitCouldNotLook;
  return any(Status::kWarn) ? kExitWarnings : kExitClean;
}

}  // namespace railbed
