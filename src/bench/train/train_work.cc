#include "bench/train/train_work.h"

#include <algorithm>

namespace railbed {
namespace {

std::uint64_t padded_elements(std::uint64_t elements) {
  constexpr std::uint64_t kAligned = 8;  // 16 bytes of a 2-byte type: the alignment for tensor cores
  return (elements + kAligned - 1) / kAligned * kAligned;
}

struct Products {
  Product forward;
  Product input_gradient;
  Product weight_gradient;
};

// Returns the three products of one matrix of a layer. Frameworks store Y (m×n) = X (m×k) · Wᵀ row by row;
// the same memory read column by column, as cuBLAS does, is Yᵀ = W · Xᵀ.
Products products_of(const Gemm& gemm, bool has_weights, std::uint64_t batch) {
  // One product with weights serves all samples of the batch. Products without weights are separate for each.
  const std::uint64_t m = has_weights ? gemm.m * batch : gemm.m;
  const std::uint64_t count = has_weights ? gemm.count : gemm.count * batch;
  const std::uint64_t k = padded_elements(gemm.k);
  const std::uint64_t n = padded_elements(gemm.n);
  return {{gemm.n, m, gemm.k, true, false, k, k, n, count},
          {gemm.k, m, gemm.n, false, false, k, n, k, count},
          {gemm.k, gemm.n, m, false, true, k, n, k, count}};
}

template <class Visit>
void visit(const TrainWork& work, Visit each) {
  for (const Product& product : work.forward) each(product);
  for (const BackwardLayer& layer : work.backward)
    for (const Product& product : layer.products) each(product);
}

}  // namespace

TrainWork make_work(const Model& model, const StepPlan& plan) {
  TrainWork work;
  StepPlan any_rate = plan;
  any_rate.flops_per_second = 1;
  const Step step = make_step(model, any_rate);
  for (const Bucket& bucket : step.buckets) work.buckets.push_back(bucket.bytes);
  work.backward.resize(model.layers.size());
  for (const Bucket& bucket : step.buckets) ++work.backward[model.layers.size() - 1 - bucket.layer].buckets;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    BackwardLayer& backward = work.backward[model.layers.size() - 1 - i];
    for (const Gemm& gemm : layer.gemms) {
      const Products three = products_of(gemm, layer.parameters > 0, plan.batch);
      work.forward.push_back(three.forward);
      backward.products.push_back(three.input_gradient);
      backward.products.push_back(three.weight_gradient);
    }
  }
  return work;
}

Operands largest_operands(const TrainWork& work) {
  Operands most;
  visit(work, [&](const Product& product) {
    most.inputs = std::max(most.inputs, (product.a_elements() + product.b_elements()) * product.count);
    most.outputs = std::max(most.outputs, product.c_elements() * product.count);
  });
  return most;
}

double multiplications(const TrainWork& work) {
  double all = 0;
  visit(work, [&](const Product& product) { all += product.multiplications(); });
  return all;
}

}  // namespace railbed
