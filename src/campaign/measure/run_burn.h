// A burn-in of the GPUs, the processors and the drives of many nodes at once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "bench/burn/burn.h"
#include "campaign/caller.h"
#include "campaign/measure/gpu_places.h"
#include "campaign/measure/run.h"
#include "campaign/reach.h"

namespace railbed {

// The GPUs of all nodes, and the power that they may take.
struct BurnOutlook {
  int nodes = 0;
  int gpus = 0;
  int hosts = 0;     // nodes whose processors are loaded
  double watts = 0;  // of all GPUs: their power limits, or --watts where that is less
  int drives = 0;
  std::uint64_t most_written = 0;  // bytes, of that drive that gets most
  int unknown = 0;                 // GPUs whose power limit is not known; they are not in `watts`
};

struct BurnListener {
  std::function<void(const BurnOutlook&)> before;                     // anything is loaded
  std::function<void(const BurnReport& now, double left)> meanwhile;  // every few seconds, without a verdict
};

// Returns the places of a load: as find_gpu_places() does, with these GPUs of each place that names none of its own. Fails if
// a place is named twice.
Result<GpuPlaces> find_load_places(const std::vector<std::string>& where, const std::vector<int>& gpus);

// Burns in the GPUs of all places, their processors and their drives, as the plan has it, until the plan's time is over or `caller` stops it. A node that cannot be reached,
// has no GPU, or is lost meanwhile is in the report with the reason, and so is the verdict. Fails if no node can begin.
// Drills are made on the first place.
Result<BenchRun> run_burn(const GpuPlaces& places, const BurnPlan& plan, const RunRequest& request,
                          ReachOptions reach, const Caller& caller, const BurnListener& listener);

}  // namespace railbed
