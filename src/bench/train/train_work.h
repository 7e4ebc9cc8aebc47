// A training step as calls of cuBLAS and NCCL: pure arithmetic on a model.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/gpu/cublas_library.h"
#include "model/trained_models.h"
#include "model/training_step.h"

namespace railbed {

// What the backward pass does between two points at which gradients are complete.
struct BackwardLayer {
  std::vector<Product> products;
  std::size_t buckets = 0;  // complete after them
};

struct TrainWork {
  std::vector<Product> forward;
  std::vector<BackwardLayer> backward;
  std::vector<std::uint64_t> buckets;  // bytes, in the order in which they are complete
};

// Layers' matrices as frameworks store them: outputs × inputs, rows padded to 16 bytes. Of each forward
// product the backward pass has two, for the weights' gradient and for the input's.
TrainWork make_work(const Model& model, const StepPlan& plan);

// Elements that operands of any one product need.
struct Operands {
  std::uint64_t inputs = 0;  // both together
  std::uint64_t outputs = 0;
};
Operands largest_operands(const TrainWork& work);
double multiplications(const TrainWork& work);  // of a whole step

}  // namespace railbed
