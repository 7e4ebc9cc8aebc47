// Runs NCCL's collectives over the GPUs of one node, of several, or of the ranks that a launcher started.
#pragma once

#include <chrono>

#include "base/result.h"
#include "bench/collective/collective.h"
#include "campaign/caller.h"
#include "campaign/gpu_places.h"
#include "campaign/launched.h"
#include "campaign/reach.h"
#include "campaign/run.h"
#include "nccl/log.h"

namespace railbed {

struct RanCollectives {
  BenchRun run;    // its `collectives`: a report for each repeat; a failure ends the repeats
  nccl::Log nccl;  // what NCCL said in the last of them
};

// `began`: when whoever asks did, for the time until the first verified result.
RanCollectives run_collectives(const GpuPlaces& places, const CollectivePlan& plan,
                               std::chrono::steady_clock::time_point began, const RunRequest& request,
                               ReachOptions reach, const Caller& caller);

// As rank 0 of those that a launcher started. An error: the others did not come.
Result<RanCollectives> lead_collectives(const LaunchedCommand& command, const CollectivePlan& plan,
                                        std::chrono::steady_clock::time_point began,
                                        const RunRequest& request, const Caller& caller);

// What the other ranks answer: to be given to serve_rank_zero().
Handlers collective_rank_handlers();

}  // namespace railbed
