// What an exchange between GPUs takes, as a training step's forecast asks for it.
#pragma once

#include "predict/collective_forecast.h"

namespace railbed {

// Nodes that are alike, and what measurements say of such paths.
struct TrainingCluster {
  ClusterShape shape;
  Calibration calibration = shipped_calibration();
};

// Ranks that exchange with each other, and how they lie.
struct ExchangeGroup {
  int ranks = 1;
  int per_node = 1;  // of them
  int beside = 1;    // groups alike that share a node's adapters at the same time
  int nodes() const { return (ranks + per_node - 1) / per_node; }
};

// all_reduce, all_gather, reduce_scatter, alltoall; bytes as nccl-tests counts them: the buffer of an
// all_reduce, what all ranks together gather or scatter, what each rank has for others of an alltoall.

// Bytes that each adapter of a node sends.
double bytes_per_adapter(Collective kind, double bytes, const ExchangeGroup& group,
                         const ClusterShape& shape);
double exchange_seconds(Collective kind, double bytes, const ExchangeGroup& group,
                        const TrainingCluster& cluster);

// What of an adapter, and of a GPU's links within its node, collectives reach.
BitRate reached_of_adapter(const TrainingCluster& cluster);
BitRate reached_within(const TrainingCluster& cluster);

}  // namespace railbed
