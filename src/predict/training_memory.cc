// States of a parameter: 2 bytes of weight, a gradient, 4 bytes of weight in 32 bits and Adam's two moments
// (Rajbhandari et al. 2020, ZeRO, section 3.1). FSDP keeps the 32-bit weights alone and gathers 16-bit ones
// for two blocks at a time.
//
// Activations of a transformer's block, in bytes per token: inputs of the norms and of the products, queries,
// keys, values, attention's result, and the inputs and output of the activation function, 16 bits each
// (Korthikanti et al. 2022, section 4, without dropout and with FlashAttention, which keeps no scores).
// Selective recomputing keeps the outputs of the products alone; full recomputing the input of each block and
// one block at work. Tensor groups share what the products read and write; norms and residuals only with
// sequence parallelism. The first stage of a pipeline keeps as many micro-batches as there are stages
// (Narayanan et al. 2021), the last one also the scores of the output, 10 bytes each: 16-bit, 32-bit and the
// 32-bit gradient.
#include "predict/training_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "hardware/gpu_product.h"

namespace railbed {
namespace {

constexpr double kStoredBytes = 2;
constexpr double kKeptScoreBytes = 10;
// CUDA's context, NCCL's buffers and cuBLAS' workspaces. Assumed.
constexpr double kReserve = 2.0 * (1ull << 30);
constexpr double kBytesPerGb = 1ull << 30;  // boards' sizes are binary
constexpr double kUnifiedBytesPerGb = 1e9;
constexpr int kGatheredBlocks = 2;
// Of the forecast; docs/reference/predict-train-accuracy.md, "Memory".
constexpr double kFewestActivations = 0.6, kMostActivations = 1.6;

double optimizer_bytes(Optimizer optimizer) {
  constexpr double kMaster = 4;
  switch (optimizer) {
    case Optimizer::kAdam:
      return kMaster + 8;
    case Optimizer::kAdam8bit:
      return kMaster + 2;
    case Optimizer::kMomentum:
      return kMaster + 4;
  }
  return 0;
}

// Bytes per token that a block keeps: those that a tensor group shares anyway, and those of norms and
// residuals.
struct BlockBytes {
  double shared = 0;
  double plain = 0;
};
BlockBytes block_bytes(const Model& model, bool products_only) {
  const auto hidden = static_cast<double>(model.hidden);
  const auto keys = static_cast<double>(model.keys);
  const auto wide = static_cast<double>(model.feed_forward);
  BlockBytes bytes;
  // Queries, keys, values and attention's result; the outputs of the first products of the feed-forward part.
  bytes.shared = kStoredBytes * (2 * hidden + 2 * keys + (model.gated ? 2 : 1) * wide);
  if (products_only) {
    bytes.plain = kStoredBytes * 2 * hidden;  // outputs of the projection and of the last product
    return bytes;
  }
  bytes.shared += kStoredBytes * (model.gated ? 2 : 1) * wide;  // of the activation function, and of the gate
  bytes.plain = kStoredBytes * 4 * hidden;                      // inputs of two norms and of two products
  return bytes;
}

// Activations of one micro-batch.
class Activations {
 public:
  explicit Activations(const TrainingPlan& plan) : plan_(plan), samples_(plan.batch / plan.micro_batches) {}

  double of_stage() const {
    if (plan_.model.hidden == 0) return samples_ * of_convolutions();
    const double blocks = std::max(1.0, static_cast<double>(plan_.model.blocks) / plan_.pipeline);
    const double input = tokens() * static_cast<double>(plan_.model.hidden) * kStoredBytes / plain_split();
    switch (plan_.recompute) {
      case Recompute::kNone:
        return blocks * of_block(false);
      case Recompute::kSelective:
        return blocks * of_block(true);
      case Recompute::kFull:
        return blocks * input;
    }
    return 0;
  }
  // Returns what is needed once, however many micro-batches are kept: a block that is computed again.
  double at_work() const {
    return plan_.recompute == Recompute::kFull && plan_.model.hidden > 0 ? of_block(false) : 0;
  }
  double of_scores() const {
    return tokens() * static_cast<double>(plan_.model.vocabulary) * kKeptScoreBytes / plan_.tensor;
  }

 private:
  double tokens() const { return samples_ * static_cast<double>(plan_.model.tokens); }
  double plain_split() const { return plan_.sequence_parallel ? plan_.tensor : 1; }
  double of_block(bool products_only) const {
    const BlockBytes bytes = block_bytes(plan_.model, products_only);
    return tokens() * (bytes.shared / plan_.tensor + bytes.plain / plain_split());
  }
  // The output of each convolution and that of its norm, of one sample. Full recomputing is counted as half.
  double of_convolutions() const {
    double words = 0;
    for (const Layer& layer : plan_.model.layers)
      for (const Gemm& gemm : layer.gemms) words += static_cast<double>(gemm.m * gemm.n);
    return words * kStoredBytes * (plan_.recompute == Recompute::kNone ? 2 : 1);
  }

  const TrainingPlan& plan_;
  double samples_;
};

double activations_of(const TrainingPlan& plan) {
  const Activations one(plan);
  const double stages = plan.pipeline;
  // Interleaved stages keep more: p · (1 + (p − 1) / (p · v)) micro-batches of the whole stage.
  const double kept = plan.interleave > 1 ? stages + (stages - 1) / plan.interleave : stages;
  const double first = std::min<double>(kept, plan.micro_batches) * one.of_stage();
  const double last = one.of_stage() + one.of_scores();
  return std::max(plan.pipeline > 1 ? first : 0, last) + one.at_work();
}

std::string text_of(Recompute recompute) {
  return fmt::format("--recompute {}", enum_names(recompute)[static_cast<std::size_t>(recompute)]);
}
std::string text_of(Sharding sharding) {
  return fmt::format("--sharding {}", enum_names(sharding)[static_cast<std::size_t>(sharding)]);
}

// Tries plans and keeps those that fit.
class Search {
 public:
  Search(const TrainingPlan& plan, double capacity) : plan_(plan), capacity_(capacity) {}

  std::vector<FittingPlan> find() {
    for (const Change& change : single_changes()) attempt({change});
    if (!found_.empty()) return std::move(found_);
    const std::vector<Change> steps = steps_by_cost();
    std::vector<Change> taken;
    for (const Change& step : steps) {
      taken.push_back(step);
      if (attempt(taken)) break;
    }
    return std::move(found_);
  }

 private:
  struct Change {
    std::string text;
    std::function<void(TrainingPlan&)> apply;
  };

  bool attempt(const std::vector<Change>& changes) {
    TrainingPlan changed = plan_;
    std::string text;
    for (const Change& change : changes) {
      change.apply(changed);
      text += (text.empty() ? "" : " ") + change.text;
    }
    const TrainingMemory memory = training_memory(changed, capacity_);
    if (memory.all > capacity_) return false;
    found_.push_back({text, memory.all});
    return true;
  }

  static Change recompute(Recompute kind) {
    return {text_of(kind), [kind](TrainingPlan& plan) { plan.recompute = kind; }};
  }
  static Change shard(Sharding kind) {
    return {text_of(kind), [kind](TrainingPlan& plan) { plan.sharding = kind; }};
  }
  static Change halve_optimizer() {
    return {"--optimizer adam8bit", [](TrainingPlan& plan) { plan.optimizer = Optimizer::kAdam8bit; }};
  }
  // Micro-batches of one sample.
  Change smallest_micro_batch() const {
    const int parts = std::max(1, static_cast<int>(std::floor(plan_.batch)));
    return {fmt::format("--micro-batches {}", parts),
            [parts](TrainingPlan& plan) { plan.micro_batches = parts; }};
  }

  std::vector<Change> single_changes() const {
    std::vector<Change> changes;
    if (plan_.batch >= 2 * plan_.micro_batches) changes.push_back(smallest_micro_batch());
    for (const Recompute kind : {Recompute::kSelective, Recompute::kFull})
      if (kind > plan_.recompute && plan_.model.hidden > 0) changes.push_back(recompute(kind));
    for (const Sharding kind : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kWeights})
      if (kind > plan_.sharding && plan_.replicas() > 1) changes.push_back(shard(kind));
    if (plan_.optimizer == Optimizer::kAdam) changes.push_back(halve_optimizer());
    for (int tensor = 2; tensor <= plan_.shape().gpus; tensor *= 2)
      if (tensor > plan_.tensor && plan_.gpus() % (tensor * plan_.pipeline) == 0 && plan_.model.hidden > 0)
        changes.push_back(
            {fmt::format("--tensor {}", tensor), [tensor](TrainingPlan& plan) { plan.tensor = tensor; }});
    return changes;
  }
  std::vector<Change> steps_by_cost() const {
    std::vector<Change> steps;
    if (plan_.replicas() > 1 && plan_.sharding < Sharding::kWeights)
      steps.push_back(shard(Sharding::kWeights));
    if (plan_.batch >= 2 * plan_.micro_batches) steps.push_back(smallest_micro_batch());
    if (plan_.recompute < Recompute::kFull && plan_.model.hidden > 0)
      steps.push_back(recompute(Recompute::kFull));
    if (plan_.optimizer == Optimizer::kAdam) steps.push_back(halve_optimizer());
    return steps;
  }

  const TrainingPlan& plan_;
  double capacity_;
  std::vector<FittingPlan> found_;
};

}  // namespace

MemoryFit TrainingMemory::fit() const {
  if (capacity <= 0) return MemoryFit::kUnknown;
  const double states = all - activations;
  if (states + kFewestActivations * activations > capacity) return MemoryFit::kTooMuch;
  return states + kMostActivations * activations <= capacity ? MemoryFit::kFits : MemoryFit::kTight;
}

TrainingMemory training_memory(const TrainingPlan& plan, double capacity) {
  const double own = plan.own_parameters();
  const double replicas = std::max(1, plan.replicas());
  const double blocks = std::max(1.0, static_cast<double>(plan.model.blocks) / plan.pipeline);
  const double gathered = std::min(1.0, kGatheredBlocks / blocks);
  const auto word = static_cast<double>(plan.word_bytes);
  TrainingMemory memory;
  memory.weights = own * kStoredBytes;
  memory.gradients = own * word;
  memory.optimizer = own * optimizer_bytes(plan.optimizer);
  if (plan.sharding >= Sharding::kOptimizer) memory.optimizer /= replicas;
  if (plan.sharding == Sharding::kGradients) memory.gradients /= replicas;
  // A pipeline keeps what it gathered, and whole gradients, until its last micro-batch.
  if (plan.sharding == Sharding::kWeights && plan.replicas() > 1 && plan.pipeline == 1) {
    memory.weights *= gathered;
    memory.gradients = memory.gradients / replicas + own / blocks * word;
  }
  memory.activations = activations_of(plan);
  memory.reserve = kReserve;
  memory.all = memory.weights + memory.gradients + memory.optimizer + memory.activations + memory.reserve;
  memory.capacity = capacity;
  return memory;
}

std::vector<FittingPlan> fitting_plans(const TrainingPlan& plan, double capacity) {
  return Search(plan, capacity).find();
}

double memory_of(const ClusterShape& shape) {
  const GpuSpeed* speed = shape.nvlinks > 0 ? find_module_speed(shape.gpu) : find_gpu_speed(shape.gpu);
  const GpuProduct* product = find_gpu_product(shape.gpu);
  if (speed != nullptr && (product == nullptr || product->memory_gb == 0))
    product = find_gpu_product(speed->name);
  if (product == nullptr) return 0;
  return product->memory_gb * (shape.unified ? kUnifiedBytesPerGb : kBytesPerGb);
}

}  // namespace railbed
