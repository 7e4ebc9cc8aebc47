// The time of an exchange between GPUs, for the forecast of a training step.
#pragma once

#include "predict/collective_forecast.h"

namespace railbed {

// A cluster of identical nodes, and the calibration of such paths.
struct TrainingCluster {
  ClusterShape shape;
  Calibration calibration = shipped_calibration();
};

// Ranks that exchange with each other, and their placement.
struct ExchangeGroup {
  int ranks = 1;
  int per_node = 1;  // ranks of the group per node
  int beside = 1;    // groups of the same kind that share a node's adapters at the same time
  int nodes() const { return (ranks + per_node - 1) / per_node; }
};

// The collectives are all_reduce, all_gather, reduce_scatter and alltoall. Bytes are counted as in
// nccl-tests: the buffer of an all_reduce, the total that all ranks gather or scatter, and for an alltoall
// what each rank has for the others.

// Returns the bytes that each adapter of a node sends.
double bytes_per_adapter(Collective kind, double bytes, const ExchangeGroup& group,
                         const ClusterShape& shape);
// Returns the duration in seconds; 0 for fewer than two ranks or no data. More nodes with as many ranks each
// never take less time: it is the longest time of any smaller number of nodes.
double exchange_seconds(Collective kind, double bytes, const ExchangeGroup& group,
                        const TrainingCluster& cluster);

// Returns the rate that collectives reach over an adapter; zero if there is none.
BitRate reached_of_adapter(const TrainingCluster& cluster);
// Returns the rate that collectives reach over a GPU's links within its node.
BitRate reached_within(const TrainingCluster& cluster);

}  // namespace railbed
