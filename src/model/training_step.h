// Arithmetic of a data-parallel training step: when gradients are ready, the time to exchange them, and the
// part that the backward pass hides. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "model/trained_models.h"

namespace railbed {

// Gradients that are exchanged together, as in PyTorch's DistributedDataParallel.
struct Bucket {
  double ready = 0;  // seconds from the start of the step until its last gradient is computed
  std::uint64_t bytes = 0;
  std::size_t layer = 0;  // index of the model's layer whose backward pass completes it
  FIELDS(Bucket, ready, bytes);
};

// One rank's step.
struct Step {
  double compute = 0;           // seconds: forward and backward, without any exchange
  std::vector<Bucket> buckets;  // in the order in which they become ready, the last layers' first
  std::uint64_t bytes() const;
  FIELDS(Step, compute, buckets);
};

// The parameters of a step.
struct StepPlan {
  std::uint64_t batch = 8;       // samples per rank
  std::uint64_t word_bytes = 4;  // bytes per gradient
  std::uint64_t bucket_bytes = std::uint64_t{25} << 20;
  // The first bucket is small, so that the exchange starts early: kDefaultFirstBucketBytes of PyTorch's
  // reducer.hpp.
  std::uint64_t first_bucket_bytes = std::uint64_t{1} << 20;
  double flops_per_second = 0;
  FIELDS(StepPlan, batch, word_bytes, bucket_bytes, first_bucket_bytes, flops_per_second);
};

// Computes one rank's step. A layer larger than a bucket is split over several buckets, so that memory stays
// bounded.
Step make_step(const Model& model, const StepPlan& plan);
// Returns the floating-point operations of one rank's step: forward once, backward twice.
double step_flops(const Model& model, std::uint64_t batch);

// Returns the bytes that a ring all-reduce sends from each rank, as a multiple of the gradients' bytes: 2 (n
// − 1) / n. 0 for one rank.
double ring_factor(int ranks);

// Returns the seconds by which the exchange outlasts the backward pass, if buckets are exchanged one after
// the other at this rate from every rank, without latency. 0 for one rank or a rate of 0.
double exposed_seconds(const Step& step, int ranks, BitRate rate);

// Returns the lowest rate at which at most `share` of the compute time is exposed. Returns 0 for one rank,
// without buckets, and for a share of 0, which no finite rate reaches: the last bucket is ready when no
// computation is left to hide it.
BitRate hiding_rate(const Step& step, int ranks, double share);

}  // namespace railbed
