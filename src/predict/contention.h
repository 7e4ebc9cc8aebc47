// What flows get where they share links: max-min fair rates, and what that makes of a collective's traffic.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "predict/topology.h"

namespace railbed {

// Bits per second, of each path, when every flow takes all that is left for it and none more than its fair
// part of the link that binds it. A path of no links gets nothing.
std::vector<double> fair_rates(std::span<const NetworkPath> paths, const std::vector<double>& capacities);

enum class TrafficPattern { kRing, kShift, kAllToAll, kIncast };
constexpr auto enum_names(TrafficPattern) {
  return std::array<std::string_view, 4>{"ring", "shift", "all-to-all", "incast"};
}

// ring: each rail's GPU to the same rail's of the next node. shift: to that of the node half the cluster
// away. all-to-all: to that of every other node. incast: every node's to node 0. `queue_pairs` of each pair
// of GPUs.
Result<std::vector<NetworkFlow>> traffic(TrafficPattern pattern, const NetworkPlan& plan, int queue_pairs);

struct TrafficForecast {
  std::uint64_t pairs = 0;  // of GPUs that send
  std::uint64_t cut = 0;    // of them without any way
  BitRate alone;            // what a pair gets when no other sends: the most of any
  BitRate slowest;          // of the pairs that have a way, all queue pairs together
  BitRate median;
  BitRate fastest;
  std::uint64_t slowed = 0;   // pairs below 99 % of `alone`
  std::string bottleneck;     // the link that binds the slowest
  std::uint64_t sharing = 0;  // flows on it
  int most_switches = 0;      // that a flow passes
  FIELDS(TrafficForecast, pairs, cut, alone, slowest, median, fastest, slowed, bottleneck, sharing,
         most_switches);
};

// All flows of the pattern at once. A ring goes as fast as its slowest pair.
Result<TrafficForecast> forecast_traffic(const Network& network, TrafficPattern pattern, int queue_pairs = 1);

}  // namespace railbed
