// The verdict on a cluster's nodes. The survey joins facts and expectations once (model/survey.h); the engine
// runs the rules over it (engine.h).
#include "verify/verify.h"

#include "model/survey.h"
#include "model/tools.h"
#include "verify/engine.h"
#include "verify/mend.h"

namespace railbed {
namespace {

Extent extent_of(const Survey& survey) {
  Extent extent{survey.nodes.size(), survey.nodes.size()};
  for (const NodeView& node : survey.nodes) extent.findings += node.ends.size();
  return extent;
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
  auto found = run_rules(all_rules(), survey, extent_of(survey), keep);
  add_remedies(survey, found);
  return verdict_of(std::move(found), all_rules());
}

}  // namespace railbed
