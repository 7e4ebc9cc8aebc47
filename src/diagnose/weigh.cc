// A hypothesis is refuted if an observation withdraws it, or if one that it needs was seen not to hold. The
// remaining ones are sorted: those whose needs were all seen, then by how common they are, then by their place
// in the table. A confirmed one beats rivals that nothing confirms, but only one whose evidence excludes its
// rivals, or that is left alone, is called the cause.
#include "diagnose/weigh.h"

#include <algorithm>
#include <utility>

namespace railbed::diagnose {
namespace {

bool is_confirmed(const Weighed& weighed) { return weighed.confirmed > 0 && weighed.open == 0; }

// Returns the hypothesis with its evidence, and whether it is refuted.
std::pair<Weighed, bool> weigh_one(const Hypothesis& hypothesis, const Ask& ask) {
  Weighed weighed{.hypothesis = &hypothesis};
  for (const std::string_view observation : hypothesis.refuted_by) {
    if (observation.empty()) break;
    Seen seen = ask(observation);
    if (seen.answer != Answer::kYes) continue;
    weighed.evidence = {std::move(seen.evidence)};
    return {std::move(weighed), true};
  }
  for (const std::string_view observation : hypothesis.needs) {
    if (observation.empty()) break;
    Seen seen = ask(observation);
    if (seen.answer == Answer::kNo) {
      weighed.evidence = {std::move(seen.evidence)};
      return {std::move(weighed), true};
    }
    ++(seen.answer == Answer::kYes ? weighed.confirmed : weighed.open);
    if (seen.answer == Answer::kYes) weighed.evidence.push_back(std::move(seen.evidence));
  }
  return {std::move(weighed), false};
}

Certainty certainty_of(const std::vector<Weighed>& remaining) {
  if (remaining.empty()) return Certainty::kUnknown;
  const Weighed& best = remaining.front();
  // Elimination alone makes a cause likely at most: the table may lack the true one.
  if (remaining.size() == 1)
    return is_confirmed(best) || best.hypothesis->stated ? Certainty::kCause : Certainty::kLikely;
  if (is_confirmed(best)) return best.hypothesis->decisive ? Certainty::kCause : Certainty::kLikely;
  const auto next = remaining[1].hypothesis->common;
  return best.open == 0 && best.hypothesis->common > next ? Certainty::kLikely : Certainty::kOneOf;
}

}  // namespace

Diagnosis weigh(std::string_view symptom, const Ask& ask) {
  Diagnosis diagnosis;
  for (const Hypothesis& hypothesis : all_hypotheses()) {
    if (symptom.empty() || std::ranges::find(hypothesis.explains, symptom) == hypothesis.explains.end())
      continue;
    auto [weighed, refuted] = weigh_one(hypothesis, ask);
    (refuted ? diagnosis.refuted : diagnosis.remaining).push_back(std::move(weighed));
  }
  std::ranges::stable_sort(diagnosis.remaining, [](const Weighed& a, const Weighed& b) {
    if (is_confirmed(a) != is_confirmed(b)) return is_confirmed(a);
    return a.hypothesis->common > b.hypothesis->common;
  });
  diagnosis.certainty = certainty_of(diagnosis.remaining);
  return diagnosis;
}

}  // namespace railbed::diagnose
