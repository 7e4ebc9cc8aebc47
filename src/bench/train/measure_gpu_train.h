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
  std::vector<double> ready;  // for each bucket: the part of the computing before it is complete, 0 to 1
};

// Returns the timeout of one part of a round in seconds: a minute, and the times of the computing at 1
// TFLOP/s and of the exchange at 1 Gb/s, and three times `stretch_to`; at most a day.
double train_patience(const GpuTrainPlan& plan);

// Runs the rehearsal. Every GPU of every node is a rank, in this order. The plan's place and patience are
// filled in here. A failure is reported in `times.failure`, with the rounds until then.
GpuTrainResult measure_gpu_train(const std::vector<GpuNodeEnd>& nodes, GpuTrainPlan plan, const OnNcclRun& on,
                                 std::stop_token stop);

// Like report_of() for host buffers, but with the measured step. A pure function. The caller fills in the
// ceilings.
TrainReport report_of(const Model& model, const StepPlan& plan, const GpuTrainResult& result);

}  // namespace railbed
