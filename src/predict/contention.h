// Rates of flows that share links: max-min fair rates, and their effect on the traffic of collectives.
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

// Returns the rate of each path in bits per second if every flow takes all that is left for it and no more
// than its fair share of the link that binds it. A path without links gets nothing. Cost: O(flows × links of
// a path × log links).
std::vector<double> fair_rates(std::span<const NetworkPath> paths, const std::vector<double>& capacities);

enum class TrafficPattern { kRing, kShift, kAllToAll, kIncast };
constexpr auto enum_names(TrafficPattern) {
  return std::array<std::string_view, 4>{"ring", "shift", "all-to-all", "incast"};
}

// Returns the flows of a pattern, `queue_pairs` for each pair of GPUs. Each rail's GPU of a node sends to the
// same rail's GPU of: the next node (ring), the node half the cluster away (shift), every other node
// (all-to-all), or node 0 (incast). Fails if there are too many flows.
Result<std::vector<NetworkFlow>> traffic(TrafficPattern pattern, const NetworkPlan& plan, int queue_pairs);

struct TrafficForecast {
  std::uint64_t pairs = 0;  // pairs of GPUs that communicate
  std::uint64_t cut = 0;    // pairs without any path
  BitRate alone;            // the most that any flow gets when no other sends
  BitRate slowest;          // of the pairs with a path, all queue pairs together
  BitRate median;
  BitRate fastest;
  std::uint64_t slowed = 0;   // pairs below 99 % of `alone`
  std::string bottleneck;     // the link that binds the slowest pair
  std::uint64_t sharing = 0;  // number of flows on it
  int most_switches = 0;      // the most switches that a flow passes
  FIELDS(TrafficForecast, pairs, cut, alone, slowest, median, fastest, slowed, bottleneck, sharing,
         most_switches);
};

// Forecasts all flows of the pattern at once. A ring runs at the speed of its slowest pair.
Result<TrafficForecast> forecast_traffic(const Network& network, TrafficPattern pattern, int queue_pairs = 1);

}  // namespace railbed
