// A rehearsal of data-parallel training on GPUs, as it runs on the nodes: forward and backward are cuBLAS's
// products, gradients are NCCL's all-reduces on a second stream. What an agent is asked and what it tells.
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
  double seconds = 5;     // rounds go on as long; at least kFewestRounds of train.h
  double patience = 60;   // seconds for one part of a round
  double stretch_to = 0;  // seconds that computing takes with other work between the products; 0: these alone
  std::string cublas;     // its file; empty: where it usually lies
  NodePlace place;
  FIELDS(GpuTrainPlan, model, step, seconds, patience, stretch_to, cublas, place);
};
// What an agent accepts.
Result<void> check_gpu_train(const GpuTrainPlan& plan);

// Seconds of one round, by CUDA events: of a rank, or the slowest of several.
struct GpuTrainRound {
  double step = 0;
  double exchange = 0;  // alone
  double compute = 0;   // alone
  FIELDS(GpuTrainRound, step, exchange, compute);
};
void keep_slower(GpuTrainRound& into, const GpuTrainRound& from);

struct GpuTrainMeans {
  std::string cublas;              // its version: "13.1.0"
  std::string type;                // of what is multiplied: "bf16"
  std::uint64_t memory_bytes = 0;  // that the rehearsal takes of each GPU, without what the libraries take
  FIELDS(GpuTrainMeans, cublas, type, memory_bytes);
};

struct GpuTrainChecked {
  std::uint64_t bytes = 0;  // of all ranks of the node
  std::uint64_t wrong_bytes = 0;
  FIELDS(GpuTrainChecked, bytes, wrong_bytes);
};

// One line of what the process on a node tells; one of the members is there.
struct GpuTrainNews {
  std::optional<NodeNews> node = {};
  std::optional<GpuTrainMeans> means = {};
  std::optional<GpuTrainRound> round = {};        // rounds come in order, the same number on every node
  std::optional<std::vector<double>> ready = {};  // of each bucket: after which part of the computing, 0 to 1
  std::optional<GpuTrainChecked> checked = {};    // the last, at the end
  FIELDS(GpuTrainNews, node, means, round, ready, checked);
};

}  // namespace railbed
