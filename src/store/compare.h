// Decides whether state B of a system is worse than state A, with a verdict for each number that both
// measured. Pure functions. Runs with different requests (BenchRun::asked) are shown side by side and never
// judged.
//
// The unit is the sitting (store/sittings.h): its repeats show their own spread and share what differs from
// one sitting to the next. The spread between sittings is learned from earlier runs and from the sittings
// that are compared. docs/decisions/0006 gives the reasons and the measurements behind them; compare.cc
// describes the algorithm.
#pragma once

#include <vector>

#include "results/comparison.h"
#include "results/run.h"

namespace railbed {

// Compares the runs of two sides; neither may be empty. `earlier` are runs of the history, in any order, by
// which the spread between sittings is learned: those that are on a side or have other options are left out.
// Rows are in the order of A's first run. The result is FAIL if any row or whole is, PASS if there are rows
// and all are PASS, else INCONCLUSIVE.
CompareResult compare(const std::vector<BenchRun>& a, const std::vector<BenchRun>& b,
                      const std::vector<BenchRun>& earlier = {}, const CompareOptions& options = {});

}  // namespace railbed
