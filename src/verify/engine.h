// The engine: runs the rules of a table over their subject, and makes a verdict of what they found. verify.cc
// judges nodes by it, fabric/judge.cc a subnet.
//
// The subject holds the facts and all that follows from them, and does not change while rules run. A rule is a
// pure function of it, so rules run in parallel and in any order, each with its own judge and list of findings;
// threads share only the number of the next rule. The lists are joined in the table's order, so the number of
// threads and their timing do not affect the result: two runs over the same facts are equal byte for byte.
//
// Findings stay in the blocks where the rules put them, and later steps move only pointers: ten thousand nodes
// have millions of findings.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "base/parallel.h"
#include "verify/judge.h"
#include "verify/rule.h"
#include "verify/verify.h"

namespace railbed {

// The size of a subject.
struct Extent {
  std::size_t nodes = 0;     // few nodes are judged by one thread
  std::size_t findings = 0;  // expected of each rule; there may be more
};

// Runs each rule, all of which must judge such subjects, and returns their findings in the order of the table.
template <class Subject>
std::vector<Verdicts> run_rules(std::span<const Rule> rules, const Subject& subject, const Extent& extent,
                                Keep keep) {
  std::vector<Verdicts> found(rules.size());
  in_parallel(rules.size(), extent.nodes, [&](std::size_t i) {
    Judge judge(keep);
    judge.start(rules[i]);
    judge.expect(extent.findings);
    (*std::get_if<Check<Subject>>(&rules[i].check))(subject, judge);
    found[i] = judge.take();
  });
  return found;
}

// Joins the findings that the rules of the table left, links causes, and sorts them.
Verdict verdict_of(std::vector<Verdicts> found, std::span<const Rule> rules);

}  // namespace railbed
