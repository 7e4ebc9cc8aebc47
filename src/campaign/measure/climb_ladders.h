// Measures the ladder of every path between two nodes: TCP, RDMA, RDMA of GPU memory, NCCL.
#pragma once

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/measure/open_pair.h"
#include "campaign/measure/run.h"
#include "campaign/reach.h"

namespace railbed {

// Returns a run with a judged ladder for each path. Its measurements are those of all rungs and repeats and,
// if there are several paths, of all rails at once (results/all_rails.h). `seconds` is the measured time of a
// TCP or RDMA rung.
Result<BenchRun> climb_ladders(const PairChoice& choice, double seconds, const RunRequest& request,
                               ReachOptions reach, const Caller& caller);

}  // namespace railbed
