// The verdict: runs every rule over every node, links causes, and sorts the findings for people.
//
// The survey joins facts and expectations once (survey.h) and does not change afterwards. A rule is a pure
// function of it, so rules run in parallel, each with its own judge and list of findings; threads share only
// the number of the next rule. The lists are joined in the table's order, so the number of threads and their
// timing do not affect the result: two runs over the same facts are equal byte for byte. Small clusters use
// one thread, because starting more would cost more than the work.
//
// Findings stay in the blocks where the rules put them, and later steps move only pointers: ten thousand
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

// Runs each rule and returns its findings, in the order of the table. Rules are pure functions of the survey,
// so the result does not depend on the thread that runs them.
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

// Replaces the remedies of findings that a setting fixes by its commands, and adapts commands to the programs
// that each node has.
void add_remedies(const Survey& survey, std::vector<Verdicts>& found) {
  const auto rules = all_rules();
  Mender mender(survey);
  for (std::size_t i = 0; i < found.size(); ++i)
    for (Finding& finding : found[i].list) {
      if (is_red(finding) && !rules[i].settings.empty()) mender.mend(rules[i], finding);
      if (!finding.remedy.commands.empty())
        fit_to_node(finding.node.empty() ? nullptr : survey.find(finding.node), finding.remedy);
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
    for (Finding& finding : list) findings.push_back(&finding);
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
