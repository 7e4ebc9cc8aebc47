// A rehearsal of data-parallel training on GPUs, as it runs on the nodes: the request to an agent and the
// news from it. The forward and backward passes are matrix products of cuBLAS; the gradients are all-reduces
// of NCCL on a second stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "bench/gpu/node_place.h"
#include "model/training_step.h"

namespace railbed {

inline constexpr std::string_view kGpuTrain = "bench.gpu.train";  // GpuTrainPlan → ChildName

struct GpuTrainPlan {
  std::string model;      // a word of model_words()
  StepPlan step;          // gradients are float32, or float16 with 2 bytes; its rate is not used
  double seconds = 5;     // time for all rounds; at least kFewestRounds of train.h are done
  double patience = 60;   // timeout of one part of a round, in seconds
  double stretch_to = 0;  // seconds of computing, with other work between the products; 0: only the products
  std::string cublas;     // its file; empty: the usual places
  NodePlace place;
  FIELDS(GpuTrainPlan, model, step, seconds, patience, stretch_to, cublas, place);
};
// Checks a plan from an untrusted caller. Fails if a number is outside its limits.
Result<void> check_gpu_train(const GpuTrainPlan& plan);

// The seconds of one round, measured with CUDA events: of one rank, or the slowest of several.
struct GpuTrainRound {
  double step = 0;
  double exchange = 0;  // without computing
  double compute = 0;   // without exchange
  FIELDS(GpuTrainRound, step, exchange, compute);
};
// Replaces each time in `into` by that in `from` if the latter is longer.
void keep_slower(GpuTrainRound& into, const GpuTrainRound& from);

struct GpuTrainMeans {
  std::string cublas;              // its version: "13.1.0"
  std::string type;                // of the factors: "bf16"
  std::uint64_t memory_bytes = 0;  // of each GPU that the rehearsal takes, without that of the libraries
  FIELDS(GpuTrainMeans, cublas, type, memory_bytes);
};

struct GpuTrainChecked {
  std::uint64_t bytes = 0;  // of all ranks of the node
  std::uint64_t wrong_bytes = 0;
  FIELDS(GpuTrainChecked, bytes, wrong_bytes);
};

// One line of the news from the process on a node. Exactly one member is set.
struct GpuTrainNews {
  std::optional<NodeNews> node = {};
  std::optional<GpuTrainMeans> means = {};
  std::optional<GpuTrainRound> round = {};        // rounds come in order, the same number on every node
  std::optional<std::vector<double>> ready = {};  // for each bucket: the part of computing before it, 0 to 1
  std::optional<GpuTrainChecked> checked = {};    // the last line
  FIELDS(GpuTrainNews, node, means, round, ready, checked);
};

}  // namespace railbed
