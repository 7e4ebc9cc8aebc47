// A rehearsal of training over the GPUs of one node or of several: the controller's side.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "bench/gpu/nccl_run.h"
#include "bench/train/gpu_train.h"
#include "bench/train/measure_train.h"

namespace railbed {

struct GpuTrainResult {
  TrainResult times;
  std::vector<CollectiveRank> ranks;
  std::string nccl;  // its version
  GpuTrainMeans means;
  std::vector<double> ready;  // of each bucket: after which part of the computing, 0 to 1
};

// What one part of a round may take: a minute, and what 1 TFLOP/s and 1 Gb/s make of it.
double train_patience(const GpuTrainPlan& plan);

// Every GPU of every node is a rank, in this order. The plan's place and patience are filled in. Always
// answers: what went wrong stands in `times.failure`.
GpuTrainResult measure_gpu_train(const std::vector<GpuNodeEnd>& nodes, GpuTrainPlan plan, const OnNcclRun& on,
                                 std::stop_token stop);

// Pure: as report_of() for host buffers, with the step as it was measured. The ceilings are the caller's.
TrainReport report_of(const Model& model, const StepPlan& plan, const GpuTrainResult& result);

}  // namespace railbed
