// The memory of a GPU in training: what a plan needs, whether it fits, and which change would make it fit.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "predict/training_plan.h"

namespace railbed {

// Activations depend on the software as well: those of published runs were 0.6 to 1.6 times the forecast.
enum class MemoryFit {
  kUnknown,  // the GPU's memory is not known
  kFits,     // even with the most activations
  kTight,    // it depends on the software
  kTooMuch,  // even with the fewest
};
constexpr auto enum_names(MemoryFit) {
  return std::array<std::string_view, 4>{"unknown", "fits", "tight", "too-much"};
}

// Bytes of the fullest GPU.
struct TrainingMemory {
  double weights = 0;      // of 16 bits, or those that are gathered at a time
  double gradients = 0;    //
  double optimizer = 0;    // moments, and weights of 32 bits
  double activations = 0;  // kept for the backward pass
  double reserve = 0;      // CUDA's context, NCCL's buffers, workspaces: assumed
  double all = 0;
  double capacity = 0;  // of the GPU; 0: unknown
  FIELDS(TrainingMemory, weights, gradients, optimizer, activations, reserve, all, capacity);
  MemoryFit fit() const;
};
// Returns the memory that the plan needs on a GPU with so many bytes; 0: unknown.
TrainingMemory training_memory(const TrainingPlan& plan, double capacity);

// A changed plan that fits.
struct FittingPlan {
  std::string change;  // "--recompute full", "--sharding fsdp --recompute full"
  double bytes = 0;    // that it needs
  FIELDS(FittingPlan, change, bytes);
};
// Returns changes of one option each whose forecast is no more than the capacity; if there is none, the first combination that does; empty if
// nothing fits on so many GPUs.
std::vector<FittingPlan> fitting_plans(const TrainingPlan& plan, double capacity);

// Returns the bytes of memory of the shape's GPUs; 0 if their name leaves it open.
double memory_of(const ClusterShape& shape);

}  // namespace railbed
