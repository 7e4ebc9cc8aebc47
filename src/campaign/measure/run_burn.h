// A burn-in of the GPUs, the processors and the drives of many nodes at once.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/burn/burn.h"
#include "campaign/caller.h"
#include "campaign/measure/burn_campaign.h"
#include "campaign/measure/gpu_places.h"
#include "campaign/measure/kept_burns.h"
#include "campaign/measure/run.h"
#include "campaign/reach.h"

namespace railbed {

// Returns the places of a load: as find_gpu_places() does, with these GPUs of each place that names none of its own. Fails if
// a place is named twice.
Result<GpuPlaces> find_load_places(const std::vector<std::string>& where, const std::vector<int>& gpus);

// Burns in the GPUs of all places, their processors and their drives, as the plan has it, until the plan's time is over
// or `caller` stops it. A node that cannot be reached, has no GPU, or is lost meanwhile is in the report with the reason,
// and so is the verdict. Fails if no node can begin. Drills are made on the first place.
//
// With `plan.keep`, whose name this function sets, each node holds its work itself: one that cannot be reached is asked
// again until the end, and another process may take the burn-in up.
Result<BenchRun> run_burn(const GpuPlaces& places, BurnPlan plan, const RunRequest& request,
                          ReachOptions reach, const Caller& caller, const BurnListener& listener);

// Returns the burn-in that can be taken up; with an empty ID the only one there is.
Result<KeptBurn> find_kept_burn(const std::string& id);

// Follows a burn-in that another process began until its end, or ends it at once.
Result<BenchRun> resume_burn(const KeptBurn& kept, bool end_at_once, ReachOptions reach, const Caller& caller,
                             const BurnListener& listener);

}  // namespace railbed
