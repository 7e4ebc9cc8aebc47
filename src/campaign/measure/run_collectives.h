// Runs NCCL's collectives over the GPUs of one node, of several, or of the ranks that a launcher started.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/result.h"
#include "bench/collective/collective.h"
#include "campaign/caller.h"
#include "campaign/measure/gpu_places.h"
#include "campaign/measure/launched.h"
#include "campaign/measure/run.h"
#include "campaign/reach.h"
#include "diagnose/log/job_log.h"
#include "facts/facts.h"

namespace railbed {

struct RanCollectives {
  BenchRun run;        // its `collectives` has a report for each repeat; a failure ends the repeats
  diagnose::Log nccl;  // NCCL's log of the last repeat
};

// `began` is the start of the command, for the time until the first verified result. `places` must not be
// empty.
RanCollectives run_collectives(const GpuPlaces& places, const CollectivePlan& plan,
                               std::chrono::steady_clock::time_point began, const RunRequest& request,
                               ReachOptions reach, const Caller& caller);

// Runs them as rank 0 of a launched job. Fails if the other ranks do not arrive.
Result<RanCollectives> lead_collectives(const LaunchedCommand& command, const CollectivePlan& plan,
                                        std::chrono::steady_clock::time_point began,
                                        const RunRequest& request, const Caller& caller);

// Returns the ceiling of a run's bus bandwidth, with a note if NCCL took TCP although a node has RDMA.
Ceiling ceiling_of_run(const CollectiveReport& report, const std::map<std::string, Facts>& facts,
                       const diagnose::Log& log);

// Returns the handlers of the other ranks, for serve_rank_zero().
Handlers collective_rank_handlers();

}  // namespace railbed
