// Climbs the ladder of every way between two nodes: TCP, RDMA, RDMA of GPU memory, NCCL.
#pragma once

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/open_pair.h"
#include "campaign/reach.h"
#include "campaign/run.h"

namespace railbed {

// The run has a judged ladder for each way; its measurements are those of all rungs and repeats, and of
// several ways those of all rails at once (results/all_rails.h). `seconds`: measured time of TCP and of RDMA.
Result<BenchRun> climb_ladders(const PairChoice& choice, double seconds, const RunRequest& request,
                               ReachOptions reach, const Caller& caller);

}  // namespace railbed
