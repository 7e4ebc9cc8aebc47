// Measures the copy engines of one node's GPUs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/gpu/gpu_copy.h"
#include "campaign/caller.h"
#include "campaign/reach.h"
#include "campaign/run.h"

namespace railbed {

struct MeasuredGpus {
  BenchRun run;
  std::vector<VisibleGpu> gpus;
  std::optional<Failure> failure;  // what ended it; the run has what was measured until then
  std::string cut;                 // why copies are smaller than was asked for; else empty
};

// `node`: an ssh destination, or localhost. `on_repeat` hears each repeat's measurements as soon as they are
// there. An error is a node that could not be looked at.
Result<MeasuredGpus> measure_gpus(const std::string& node, const GpuCopyPlan& plan, const RunRequest& request,
                                  ReachOptions reach, const Caller& caller,
                                  const std::function<void(const std::vector<Measurement>&)>& on_repeat);

}  // namespace railbed
