// Rehearses data-parallel training on this machine or on a cluster: on GPUs with cuBLAS and NCCL, or in host
// buffers over TCP and RDMA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/measure/run.h"
#include "campaign/reach.h"
#include "model/training_step.h"
#include "verify/verify.h"

namespace railbed {

inline constexpr int kMostLocalRanks = 16;

struct TrainChoice {
  std::string cluster;             // its file; empty: this machine
  std::string model = "resnet50";  // a word of model_words()
  StepPlan step;                   // `batch` below overrides its batch
  std::uint64_t batch = 0;         // samples per rank; 0: the usual number
  double seconds = 5;
  // For rehearsals on GPUs, if every node has them:
  std::vector<int> gpus;  // of this machine; empty: all
  std::string nccl;       // library files; empty: the usual places
  std::string cublas;
  // For rehearsals in host buffers:
  bool host_buffers = false;       // even if there are GPUs
  std::string rail;                // of the cluster; empty: the first
  int ranks = 0;                   // per node; 0: two on this machine alone, else one
  double step_seconds = 0;         // time of a step without exchange; 0: by the step's rate
  std::vector<Engine> transports;  // empty: all that every node has on the rail
};

struct Rehearsed {
  BenchRun run;  // its `trains` has a report for each repeat and transport
  std::vector<Unreachable> unreachable;
};

// A failed rehearsal has its failure in its report. Returns an error only if the rehearsals could not begin.
// After a stop the run has what was rehearsed until then.
Result<Rehearsed> rehearse(const TrainChoice& choice, const RunRequest& request, ReachOptions reach,
                           const Caller& caller);

}  // namespace railbed
