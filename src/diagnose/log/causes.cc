// Gives each problem of a log its cause, with the causes that remain possible beside it and those that something
// contradicts.
#include <algorithm>

#include "diagnose/hypothesis.h"
#include "diagnose/log/state.h"
#include "diagnose/weigh.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kMostOthers = 3;  // possible causes that are kept beside the best one

LogCandidate candidate(const Weighed& weighed, const std::string& title) {
  const Hypothesis& hypothesis = *weighed.hypothesis;
  return {.id = std::string(hypothesis.id),
          .title = hypothesis.title.empty() ? title : std::string(hypothesis.title),
          .cause = std::string(hypothesis.cause),
          .remedy = std::string(hypothesis.remedy),
          .settle_by = std::string(hypothesis.settle_by),
          .evidence = weighed.evidence};
}

}  // namespace

bool reports_an_end(std::string_view symptom) {
  constexpr std::string_view kEnds[] = {"killed-", "abort-",          "crash-",        "bus-",
                                        "term-",   "slurm-task-exit", "watchdog-stuck"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return symptom.starts_with(end); });
}

void find_causes(LogState& state) {
  for (LogProblem& problem : state.log.problems) {
    if (problem.symptom.empty()) continue;
    const Diagnosis diagnosis = weigh(
        problem.symptom, [&](std::string_view observation) { return look_for(observation, state, problem); });
    const std::string symptom_title = problem.title;
    problem.certainty = diagnosis.certainty;
    for (const Weighed& weighed : diagnosis.refuted)
      problem.refuted.push_back(candidate(weighed, symptom_title));
    if (diagnosis.remaining.empty()) continue;
    const bool decided = diagnosis.certainty == Certainty::kCause;
    for (std::size_t i = 1; !decided && i < diagnosis.remaining.size() && i <= kMostOthers; ++i)
      problem.others.push_back(candidate(diagnosis.remaining[i], symptom_title));
    const Weighed& best = diagnosis.remaining.front();
    problem.id = best.hypothesis->id;
    problem.consequence = problem.consequence || (best.hypothesis->echo && best.open == 0);
    // A program that raised an exception ended by it; launchers then kill what is left.
    if (diagnosis.certainty != Certainty::kCause && reports_an_end(problem.symptom) &&
        exception_before(state, problem) != nullptr)
      problem.consequence = true;
    // Where several causes remain, the title states what happened, not why.
    if (diagnosis.certainty != Certainty::kOneOf && !best.hypothesis->title.empty())
      problem.title = best.hypothesis->title;
    problem.cause = best.hypothesis->cause;
    problem.remedy = best.hypothesis->remedy;
    problem.source = best.hypothesis->source;
    problem.settle_by = best.hypothesis->settle_by;
    problem.evidence = best.evidence;
  }
}

}  // namespace railbed::diagnose
