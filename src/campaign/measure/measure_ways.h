// Measures every path between two nodes with the engines of a plan: `railbed bench tcp` and `bench rdma`.
#pragma once

#include "base/result.h"
#include "bench/pairs/measure.h"
#include "campaign/caller.h"
#include "campaign/measure/open_pair.h"
#include "campaign/measure/run.h"
#include "campaign/reach.h"

namespace railbed {

// A failed measurement has its failure in the run. Returns an error only if a node or a path is not
// available. After a stop the run has what was measured until then.
Result<BenchRun> measure_ways(const PairChoice& choice, const BenchPlan& plan, const RunRequest& request,
                              ReachOptions reach, const Caller& caller);

}  // namespace railbed
