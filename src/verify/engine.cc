#include "verify/engine.h"

#include <algorithm>

#include "verify/causes.h"

namespace railbed {

Verdict verdict_of(std::vector<Verdicts> found, std::span<const Rule> rules) {
  Findings::Blocks blocks;
  StatusCounts left_out;
  for (Verdicts& verdicts : found) {
    left_out.add(verdicts.left_out);
    blocks.push_back(std::move(verdicts.list));
  }
  FindingList findings;
  for (auto& list : blocks)
    for (Finding& finding : list) findings.push_back(&finding);
  link_causes(findings, rules);
  put_in_order(findings, rules);
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
