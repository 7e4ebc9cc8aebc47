// Decides whether run B is worse than run A, with a verdict for each number that both measured. Pure
// functions. Runs with different requests (BenchRun::asked) are shown side by side and never judged.
//
// The unit is one measurement's median: repeats of a measurement (`bench --repeat`) show the spread from run
// to run, which the samples within one run do not. Medians are compared as logarithms by Welch's t test,
// because a change of a machine has a multiplicative effect. docs/decisions/0006 gives the reasons and the
// measurements behind them; compare.cc describes the algorithm.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "results/comparison.h"
#include "results/run.h"

namespace railbed {

// Compares two runs. Rows are in A's order. The result is FAIL if any row is, PASS if there are rows and all
// are PASS, else INCONCLUSIVE.
CompareResult compare(const BenchRun& a, const BenchRun& b, const CompareOptions& options = {});

// Returns P(T > t) of Student's t distribution. `freedom` must be positive; it need not be an integer.
double student_tail(double t, double freedom);
// Returns the t with P(T > t) = tail, for a tail in (0, 0.5].
double student_quantile(double tail, double freedom);

}  // namespace railbed
