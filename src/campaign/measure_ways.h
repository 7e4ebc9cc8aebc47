// Measures every way between two nodes with the engines of a plan: `railbed bench tcp` and `bench rdma`.
#pragma once

#include "base/result.h"
#include "bench/pairs/measure.h"
#include "campaign/caller.h"
#include "campaign/open_pair.h"
#include "campaign/reach.h"
#include "campaign/run.h"

namespace railbed {

// What went wrong with a number stands in its measurement; an error is a node or a way that cannot be had.
// After a stop the run has what was measured until then.
Result<BenchRun> measure_ways(const PairChoice& choice, const BenchPlan& plan, const RunRequest& request,
                              ReachOptions reach, const Caller& caller);

}  // namespace railbed
