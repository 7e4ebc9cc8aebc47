// An exchange takes as long as the slower of its two parts, which run at the same time, and a latency.
//
// Between nodes an all_reduce brings each node the sum of the N − 1 others and takes its own there: every
// node sends 2 (N − 1) / N of the buffer, as NCCL's trees do and a ring over nodes does. all_gather and
// reduce_scatter run as rings over all n ranks: (n − 1) / n of the whole passes from node to node. Of an
// all_to_all each rank sends (n − ranks beside it) / n of what it has to other nodes. The adapters of a node
// share that evenly. Within a node the same with its ranks, at what a GPU passes on.
//
// The latency is that of NCCL's Simple protocol in its tuning model (NCCL 2.30, src/graph/tuning.cc): a base
// of 8.4 µs, 14 µs for each step over the network (log2 N of a tree up and down, N − 1 of a ring), 3.4 µs for
// each within a node.
#include "predict/exchange.h"

#include <algorithm>
#include <cmath>

namespace railbed {
namespace {

constexpr double kBaseSeconds = 8.4e-6;
constexpr double kNetworkStep = 14e-6;
constexpr double kInsideStep = 3.4e-6;

// Of the buffer, that passes between `nodes` when `ranks` take part.
double outside_part(Exchange kind, const ExchangeGroup& group) {
  const double nodes = group.nodes();
  if (nodes < 2) return 0;
  if (kind == Exchange::kAllReduce) return 2 * (nodes - 1) / nodes;
  if (kind == Exchange::kAllToAll)
    return (group.ranks - group.per_node) / static_cast<double>(group.ranks) * group.per_node;
  return (group.ranks - 1.0) / group.ranks;
}

double inside_part(Exchange kind, const ExchangeGroup& group) {
  const double ranks = std::min(group.ranks, group.per_node);
  if (ranks < 2) return 0;
  if (kind == Exchange::kAllToAll) return (ranks - 1) / group.ranks;
  return (kind == Exchange::kAllReduce ? 2 : 1) * (ranks - 1) / ranks;
}

double latency(Exchange kind, const ExchangeGroup& group) {
  const double inside = std::min(group.ranks, group.per_node) - 1;
  const double nodes = group.nodes();
  const double steps = kind == Exchange::kAllReduce ? 2 * std::log2(nodes) : nodes - 1;
  return kBaseSeconds + steps * kNetworkStep + (kind == Exchange::kAllReduce ? 2 : 1) * inside * kInsideStep;
}

double seconds_at(double bytes, BitRate rate, double efficiency) {
  return bytes <= 0 || rate.bits_per_second <= 0 ? 0 : bytes * 8 / (rate.bits_per_second * efficiency);
}

}  // namespace

double bytes_per_adapter(Exchange kind, double bytes, const ExchangeGroup& group,
                         const TrainingNetwork& network) {
  return outside_part(kind, group) * bytes * group.beside / network.adapters;
}

double exchange_seconds(Exchange kind, double bytes, const ExchangeGroup& group,
                        const TrainingNetwork& network) {
  if (group.ranks < 2 || bytes <= 0) return 0;
  const double outside =
      seconds_at(bytes_per_adapter(kind, bytes, group, network), network.adapter, network.efficiency);
  const double inside = seconds_at(inside_part(kind, group) * bytes, network.inside, network.efficiency);
  return std::max(outside, inside) + latency(kind, group);
}

}  // namespace railbed
