// The time is that of forecast_collective() for a cluster with the group's ranks alone. Groups that exchange
// at the same time share a node's adapters evenly: each gets its part of their rate.
//
// Bytes between nodes: in an all_reduce each node receives the sum of the N − 1 others and sends its own, so
// every node sends 2 (N − 1) / N of the buffer, as NCCL's trees and a ring over nodes do. all_gather and
// reduce_scatter run as rings over all n ranks: (n − 1) / n of the total passes from node to node. In an
// alltoall each rank sends (n − ranks on its node) / n of its data to other nodes. The adapters of a node
// share this evenly.
#include "predict/exchange.h"

#include <algorithm>

#include "predict/path_limits.h"

namespace railbed {
namespace {

// Returns the part of the buffer that each node sends to others.
double outside_part(Collective kind, const ExchangeGroup& group) {
  const double nodes = group.nodes();
  if (nodes < 2) return 0;
  if (kind == Collective::kAllReduce) return 2 * (nodes - 1) / nodes;
  if (kind == Collective::kAllToAll)
    return (group.ranks - group.per_node) / static_cast<double>(group.ranks) * group.per_node;
  return (group.ranks - 1.0) / group.ranks;
}

ClusterShape shape_of(const ExchangeGroup& group, const ClusterShape& whole) {
  ClusterShape shape = whole;
  shape.gpus = std::min(group.ranks, group.per_node);
  shape.nodes = group.nodes();
  const double part = 1.0 / std::max(1, group.beside);
  shape.nic_rate = shape.nic_rate * part;
  shape.nic_pcie = shape.nic_pcie * part;
  return shape;
}

double seconds_alone(Collective kind, double bytes, const ExchangeGroup& group,
                     const TrainingCluster& cluster) {
  ForecastChoice choice;
  choice.from_graph = true;  // launched while the GPU still computes
  const ClusterShape shape = shape_of(group, cluster.shape);
  return forecast_collective(shape, kind, static_cast<std::uint64_t>(bytes), cluster.calibration, choice)
             .time /
         1e9;
}

// Returns the next larger number of 1, 2, 3, 4, 6, 8, 12, 16 ...
int next_nodes(int nodes) {
  const bool power = (nodes & (nodes - 1)) == 0;
  return nodes < 2 ? nodes + 1 : power ? nodes + nodes / 2 : nodes / 3 * 4;
}

}  // namespace

double bytes_per_adapter(Collective kind, double bytes, const ExchangeGroup& group,
                         const ClusterShape& shape) {
  return outside_part(kind, group) * bytes * group.beside / std::max(1, shape.nics);
}

double exchange_seconds(Collective kind, double bytes, const ExchangeGroup& group,
                        const TrainingCluster& cluster) {
  if (group.ranks < 2 || bytes < 1) return 0;
  if (group.nodes() < 2) return seconds_alone(kind, bytes, group, cluster);
  // A forecast may fall where NCCL takes another algorithm for more nodes. Nobody can rely on that.
  double longest = 0;
  for (int nodes = 1;; nodes = next_nodes(nodes)) {
    ExchangeGroup part = group;
    part.ranks = nodes * group.per_node;
    if (part.ranks > 1) longest = std::max(longest, seconds_alone(kind, bytes, part, cluster));
    if (nodes >= group.nodes()) return longest;
  }
}

BitRate reached_of_adapter(const TrainingCluster& cluster) {
  const ClusterShape& shape = cluster.shape;
  if (shape.nics < 1) return {};
  return node_wire(shape).rate * (cluster.calibration.of(network_path(shape.nic)).efficiency / shape.nics);
}

BitRate reached_within(const TrainingCluster& cluster) {
  return cluster.shape.link_rate * cluster.calibration.of(local_path(cluster.shape)).efficiency;
}

}  // namespace railbed
