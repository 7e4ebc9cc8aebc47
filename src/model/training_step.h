// A data-parallel training step as arithmetic: when gradients are ready, what
// they cost to exchange, and what of that the backward pass hides. Pure
// functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "model/trained_models.h"

namespace railbed {

// Gradients that are exchanged together, as PyTorch's DistributedDataParallel
// does.
struct Bucket {
  double ready = 0;  // seconds from the start of the step until its last
                     // gradient is computed
  std::uint64_t bytes = 0;
  std::size_t layer = 0;  // of the model, whose backward pass completes it
  FIELDS(Bucket, ready, bytes);
};

struct Step {
  double compute = 0;           // seconds: forward and backward, without any exchange
  std::vector<Bucket> buckets;  // in the order in which they become ready: the
                                // last layers' first
  std::uint64_t bytes() const;
  FIELDS(Step, compute, buckets);
};

struct StepPlan {
  std::uint64_t batch = 8;       // samples a rank
  std::uint64_t word_bytes = 4;  // of one gradient
  std::uint64_t bucket_bytes = std::uint64_t{25} << 20;
  // The first is small, so that the exchange starts early:
  // kDefaultFirstBucketBytes of PyTorch's reducer.hpp.
  std::uint64_t first_bucket_bytes = std::uint64_t{1} << 20;
  double flops_per_second = 0;
  FIELDS(StepPlan, batch, word_bytes, bucket_bytes, first_bucket_bytes, flops_per_second);
};

// One rank's step. A layer larger than a bucket is exchanged in pieces, so that
// memory stays bounded.
Step make_step(const Model& model, const StepPlan& plan);
// Multiplies of operations of one rank's step: forward once, backward twice.
double step_flops(const Model& model, std::uint64_t batch);

// What a ring all-reduce sends from each rank: 2 (n − 1) / n of the bytes.
double ring_factor(int ranks);

// Seconds by which the exchange outlasts the backward pass, buckets one after
// the other at this rate from every rank, without any latency.
double exposed_seconds(const Step& step, int ranks, BitRate rate);

// The lowest rate at which no more than `share` of the compute time is exposed.
// Zero for one rank. The last bucket is ready when nothing is left to hide it,
// so a share of zero would need an endless rate.
BitRate hiding_rate(const Step& step, int ranks, double share);

}  // namespace railbed
