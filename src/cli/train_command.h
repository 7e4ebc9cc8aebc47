// What the two ways of `railbed bench train` share: GPUs with NCCL, and host buffers over TCP.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/train/measure_gpu_train.h"
#include "campaign/survey.h"
#include "cli/fleet_options.h"
#include "cli/kept_run.h"

namespace railbed {

struct TrainOptions {
  std::string cluster_file;  // empty: this machine
  std::string rail;
  std::string model = "resnet50";
  std::string flops;
  double step_milliseconds = 0;
  std::string bucket = "25M";
  int ranks = 0;            // of each node; 0: two on this machine alone, else one
  std::uint64_t batch = 0;  // samples a rank; 0: usual
  double seconds = 5;
  bool json = false;
  bool host_buffers = false;            // even where there are GPUs
  std::vector<std::string> transports;  // "tcp", "rdma" of host buffers; empty: all that every node has
  std::vector<int> gpus;                // of this machine; empty: all
  std::string nccl;                     // files; empty: where they usually lie
  std::string cublas;
  StepPlan plan;
  KeepOptions keep;
  fleet::FleetOptions fleet;
};

// Does all rehearsals as often as was asked for, prints and keeps them. The exit code.
using Rehearsals = std::vector<std::function<TrainReport()>>;
int keep_rehearsals(const TrainOptions& options, const Rehearsals& rehearsals, const Surveyed& surveyed);

// The nodes of which no GPU with a working driver is known.
std::vector<std::string> nodes_without_gpus(const Surveyed& surveyed);

int train_on_gpus(const TrainOptions& options, const Model& model, const std::vector<GpuNodeEnd>& nodes,
                  const Surveyed& surveyed);

}  // namespace railbed
