// A training job on a cluster: the model, how it is split, and what a GPU reaches.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/trained_models.h"
#include "predict/exchange.h"
#include "predict/step_work.h"

namespace railbed {

// What the replicas divide among themselves, instead of each having all of it.
enum class Sharding {
  kNone,       // DistributedDataParallel
  kOptimizer,  // ZeRO-1, Megatron's distributed optimizer
  kGradients,  // ZeRO-2
  kWeights,    // ZeRO-3, FSDP
};
constexpr auto enum_names(Sharding) {
  return std::array<std::string_view, 4>{"ddp", "zero1", "zero2", "fsdp"};
}

enum class Optimizer { kAdam, kAdam8bit, kMomentum };
constexpr auto enum_names(Optimizer) { return std::array<std::string_view, 3>{"adam", "adam8bit", "sgd"}; }

struct TrainingPlan {
  Model model;
  double batch = 8;  // samples per replica and step
  TrainingRates rates;
  std::uint64_t word_bytes = 4;  // size of one gradient value
  std::uint64_t bucket_bytes = std::uint64_t{25} << 20;
  double overlap = 1;  // share of the exchanges that may run beneath computing
  Sharding sharding = Sharding::kNone;
  Recompute recompute = Recompute::kNone;
  Optimizer optimizer = Optimizer::kAdam;
  int tensor = 1;                  // GPUs that share each block's matrices
  bool sequence_parallel = false;  // they share norms and residuals, too
  int pipeline = 1;                // stages of blocks
  int interleave = 1;              // parts of the model on each stage
  int expert = 1;                  // GPUs that share a block's experts
  int micro_batches = 1;           // parts of a replica's batch
  int experts = 1;                 // experts per block
  int experts_used = 1;            // experts used by each token
  double expert_share = 0;         // share of the parameters that belong to experts
  TrainingCluster cluster;

  const ClusterShape& shape() const { return cluster.shape; }
  int gpus() const { return shape().ranks(); }
  int replicas() const { return gpus() / (tensor * pipeline); }
  // Returns the parameters of a GPU before any sharding.
  double own_parameters() const {
    const double dense = (1 - expert_share) + expert_share / expert;
    return static_cast<double>(model.parameters()) * dense / (tensor * pipeline);
  }
};

}  // namespace railbed
