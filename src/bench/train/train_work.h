// Converts a training step to calls of cuBLAS and NCCL: pure arithmetic on a model.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/gpu/cublas_library.h"
#include "model/trained_models.h"
#include "model/training_step.h"

namespace railbed {

// The work of the backward pass between two points at which gradients are complete.
struct BackwardLayer {
  std::vector<Product> products;
  std::size_t buckets = 0;  // number of buckets that are complete after these products
};

struct TrainWork {
  std::vector<Product> forward;
  std::vector<BackwardLayer> backward;
  std::vector<std::uint64_t> buckets;  // bytes, in the order in which they are complete
};

// Returns the products of one step. The layers' matrices have the layout of frameworks: outputs × inputs,
// rows padded to 16 bytes (of a 2-byte type). For each product of the forward pass the backward pass has two:
// for the gradient of the weights and for that of the input.
TrainWork make_work(const Model& model, const StepPlan& plan);

// The largest numbers of elements that the operands of one product need.
struct Operands {
  std::uint64_t inputs = 0;  // of both inputs together
  std::uint64_t outputs = 0;
};
Operands largest_operands(const TrainWork& work);
double multiplications(const TrainWork& work);  // of a whole step

}  // namespace railbed
