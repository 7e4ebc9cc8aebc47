// Is B worse than A? A verdict for each number that both measured. Pure functions.
// Runs that were asked for different things (BenchRun::asked) are laid side by side and never judged.
//
// The unit is one measurement's median: repeats of a measurement (`bench --repeat`) show the spread from run
// to run, which the samples within one run do not. Medians are compared as logarithms by Welch's t test,
// because what changes a machine multiplies. docs/decisions/0006 says why, and what was measured of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "results/comparison.h"
#include "results/run.h"

namespace railbed {

CompareResult compare(const BenchRun& a, const BenchRun& b, const CompareOptions& options = {});

// P(T > t) of Student's distribution; `freedom` > 0, need not be whole.
double student_tail(double t, double freedom);
// The t with P(T > t) = tail, for tail in (0, 0.5].
double student_quantile(double tail, double freedom);

}  // namespace railbed
