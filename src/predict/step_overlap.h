// Exchanges beneath the computation of a step: which of their time nothing hides. Times are seconds. Every
// result grows, or stays, if one of its durations grows.
#pragma once

#include <vector>

namespace railbed {

// An exchange that may start when `ready`, counted from the start of the computation.
struct ReadyExchange {
  double ready = 0;
  double seconds = 0;
};
// Returns by how much exchanges, one after the other in this order, outlast a computation of this length.
double exposed_behind(const std::vector<ReadyExchange>& exchanges, double compute);

// A model whose blocks are gathered before they are computed, as FSDP and ZeRO-3 do. All blocks are alike.
struct GatheredBlocks {
  int blocks = 1;
  int micro_batches = 1;
  double forward = 0, backward = 0;  // computing of a block and micro-batch
  double gather = 0;                 // of a block's weights, forward and again backward
  double scatter = 0;                // of a block's gradients
};
// Returns the time by which exchanges lengthen the step. The next block is gathered while one is computed;
// gradients of a block are scattered after its backward pass; exchanges never overlap each other.
double exposed_by_gathering(const GatheredBlocks& plan);

}  // namespace railbed
