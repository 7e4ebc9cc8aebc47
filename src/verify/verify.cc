// The verdict: every rule over every node, causes linked, in the order that people read.
//
// The survey brings facts and expectations together once (survey.h); from then on nothing changes. A rule is
// a pure function of it, so rules run at the same time, each with a judge and a list of findings of its own,
// and threads share nothing but the number of the next rule. The lists are put together in the table's order:
// neither the number of threads nor their luck shows in the result, and two runs over the same facts are
// equal byte for byte. Small clusters take one thread; starting more would cost more than the work.
//
// Findings stay in the blocks where the rules put them, and what follows moves pointers only: ten thousand
// nodes have millions of findings.
#include "verify/verify.h"
#include "model/tools.h"

#include <algorithm>

#include "base/parallel.h"
#include "model/survey.h"
#include "verify/causes.h"
#include "verify/judge.h"
#include "verify/mend.h"
#include "verify/rule.h"

namespace railbed {

namespace {

// What each rule finds, in the order of the table. Rules are pure functions of the survey: who runs them does
// not show.
std::vector<Verdicts> judge_all(const Survey& survey, Keep keep) {
  const auto rules = all_rules();
  std::vector<Verdicts> found(rules.size());
  std::size_t ends = survey.nodes.size();
  for (const NodeView& node : survey.nodes) ends += node.ends.size();
  in_parallel(rules.size(), survey.nodes.size(), [&](std::size_t i) {
    Judge judge(keep);
    judge.start(rules[i]);
    judge.expect(ends);
    rules[i].check(survey, judge);
    found[i] = judge.take();
  });
  return found;
}

bool is_red(const Finding& finding) {
  return finding.status == Status::kFail || finding.status == Status::kWarn;
}

// Findings that a setting mends get its commands; what each node lacks a program for is made to fit it.
void add_remedies(const Survey& survey, std::vector<Verdicts>& found) {
  const auto rules = all_rules();
  Mender mender(survey);
  for (std::size_t i = 0; i < found.size(); ++i)
    for (Finding& one : found[i].list) {
      if (is_red(one) && !rules[i].settings.empty()) mender.mend(rules[i], one);
      if (!one.remedy.commands.empty())
        fit_to_node(one.node.empty() ? nullptr : survey.find(one.node), one.remedy);
    }
}

}  // namespace

Verdict verify(const Evidence& evidence, Keep keep) {
  const Survey survey(evidence);
  auto found = judge_all(survey, keep);
  add_remedies(survey, found);
  Findings::Blocks blocks;
  StatusCounts left_out;
  for (Verdicts& verdicts : found) {
    left_out.add(verdicts.left_out);
    blocks.push_back(std::move(verdicts.list));
  }
  FindingList findings;
  for (auto& list : blocks)
    for (Finding& one : list) findings.push_back(&one);
  link_causes(findings);
  put_in_order(findings);
  return {Findings(std::move(blocks), std::move(findings), left_out)};
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
