#include "verify/verify.h"

#include <algorithm>

#include "verify/causes.h"
#include "verify/judge.h"
#include "verify/rule.h"
#include "verify/survey.h"

namespace railbed {

Verdict verify(const Evidence& evidence) {
  const Survey survey(evidence);
  Judge judge;
  for (const Rule& rule : all_rules()) {
    judge.start(rule);
    rule.check(survey, judge);
  }
  Verdict verdict{judge.take()};
  link_causes(verdict.findings);
  put_in_order(verdict.findings);
  return verdict;
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
