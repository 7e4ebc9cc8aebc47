// Measures the copy engines of one node's GPUs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/gpu/gpu_copy.h"
#include "campaign/caller.h"
#include "campaign/measure/run.h"
#include "campaign/reach.h"

namespace railbed {

struct MeasuredGpus {
  BenchRun run;
  std::vector<VisibleGpu> gpus;
  std::optional<Failure> failure;  // why it ended early; the run has the measurements until then
  std::string cut;                 // why copies are smaller than requested; empty if they are not
};

// Measures the GPUs of `node`, an ssh destination or "localhost". Calls `on_repeat` with the measurements of
// each repeat as soon as it ends. Fails if the node's facts cannot be read.
Result<MeasuredGpus> measure_gpus(const std::string& node, const GpuCopyPlan& plan, const RunRequest& request,
                                  ReachOptions reach, const Caller& caller,
                                  const std::function<void(const std::vector<Measurement>&)>& on_repeat);

}  // namespace railbed
