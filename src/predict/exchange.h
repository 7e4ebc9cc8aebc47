// What an exchange between GPUs takes, as a training step's forecast asks for it.
#pragma once

#include "base/units.h"

namespace railbed {

// Nodes that are alike, and what joins their GPUs.
struct TrainingNetwork {
  int nodes = 2;
  int gpus_per_node = 1;
  int adapters = 1;         // of a node
  BitRate adapter;          // what each carries
  BitRate inside;           // that a GPU passes on within its node; zero: it never binds
  double efficiency = 0.9;  // that collectives reach of both
};

enum class Exchange { kAllReduce, kAllGather, kReduceScatter, kAllToAll };

// Ranks that exchange with each other, and how they lie.
struct ExchangeGroup {
  int ranks = 1;
  int per_node = 1;  // of them
  int beside = 1;    // groups alike that share a node's adapters at the same time
  int nodes() const { return (ranks + per_node - 1) / per_node; }
};

// Bytes that each adapter of a node sends. `bytes` is the buffer of an all_reduce, what all ranks together
// gather or scatter, and what each rank has for others of an all_to_all.
double bytes_per_adapter(Exchange kind, double bytes, const ExchangeGroup& group,
                         const TrainingNetwork& network);
double exchange_seconds(Exchange kind, double bytes, const ExchangeGroup& group,
                        const TrainingNetwork& network);

}  // namespace railbed
