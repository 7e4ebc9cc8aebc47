// Rehearses data-parallel training on this machine or on a cluster: on GPUs with cuBLAS and NCCL, or in host
// buffers over TCP and RDMA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/reach.h"
#include "campaign/run.h"
#include "model/training_step.h"
#include "verify/verify.h"

namespace railbed {

inline constexpr int kMostLocalRanks = 16;

struct TrainChoice {
  std::string cluster;             // its file; empty: this machine
  std::string model = "resnet50";  // a word of model_words()
  StepPlan step;                   // its batch is set by `batch`
  std::uint64_t batch = 0;         // samples a rank; 0: usual
  double seconds = 5;
  // On GPUs, where every node has them:
  std::vector<int> gpus;  // of this machine; empty: all
  std::string nccl;       // files; empty: where they usually lie
  std::string cublas;
  // In host buffers:
  bool host_buffers = false;       // even where there are GPUs
  std::string rail;                // of the cluster; empty: the first
  int ranks = 0;                   // of each node; 0: two on this machine alone, else one
  double step_seconds = 0;         // of a step without any exchange; 0: by the step's rate
  std::vector<Engine> transports;  // empty: all that every node has on the rail
};

struct Rehearsed {
  BenchRun run;  // its `trains`: a report of each repeat and transport
  std::vector<Unreachable> unreachable;
};

// What a rehearsal met stands in its report; an error is one that could not begin. After a stop the run has
// what was rehearsed until then.
Result<Rehearsed> rehearse(const TrainChoice& choice, const RunRequest& request, ReachOptions reach,
                           const Caller& caller);

}  // namespace railbed
