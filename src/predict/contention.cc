// Max-min fairness by progressive filling. All flows' rates rise together from zero. The first link to fill
// is the one with the least capacity per flow. Its flows are fixed, and their rates are subtracted from every
// other link that they pass. The remaining rates go on rising until every flow is fixed by a full link. Then
// no flow can get more unless a flow that has no more than it loses some. That is the definition of max-min
// fairness, and congestion control of many long flows comes close to it.
//
// Removing flows from a link never lowers the share that is left for its other flows. So a heap of links by
// share may contain outdated, too low values: a link that is popped with one is pushed back with the new
// value. Each flow is fixed once and each of its links visited once, so the cost is O(flows × links of a path
// × log links).
//
// Not modeled: the start of flows, queues, pauses of lossless Ethernet that block other flows, and switches
// that spray packets over all paths.
#include "predict/contention.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/median.h"

namespace railbed {
namespace {

constexpr std::uint64_t kMostFlows = 8'000'000;
constexpr double kSlowed = 0.99;

std::span<const std::uint32_t> links_of(const NetworkPath& path) {
  return {path.links.data(), static_cast<std::size_t>(path.length)};
}

// The flows of each link, in one array.
class FlowsByLink {
 public:
  FlowsByLink(std::span<const NetworkPath> paths, std::size_t links) : begins_(links + 1, 0) {
    for (const NetworkPath& path : paths)
      for (const std::uint32_t link : links_of(path)) ++begins_[link + 1];
    for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    flows_.resize(begins_.back());
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (std::size_t flow = 0; flow < paths.size(); ++flow)
      for (const std::uint32_t link : links_of(paths[flow]))
        flows_[next[link]++] = static_cast<std::uint32_t>(flow);
  }
  std::span<const std::uint32_t> of(std::size_t link) const {
    return std::span(flows_).subspan(begins_[link], begins_[link + 1] - begins_[link]);
  }

 private:
  std::vector<std::uint32_t> begins_;
  std::vector<std::uint32_t> flows_;
};

class Filling {
 public:
  Filling(std::span<const NetworkPath> paths, const std::vector<double>& capacities)
      : paths_(paths),
        flows_(paths, capacities.size()),
        left_(capacities),
        rising_(capacities.size()),
        rates_(paths.size(), -1) {
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      rising_[link] = static_cast<std::uint32_t>(flows_.of(link).size());
      if (rising_[link] > 0) heap_.emplace(part(link), link);
    }
  }

  std::vector<double> rates() {
    while (!heap_.empty()) {
      const auto [known, link] = heap_.top();
      heap_.pop();
      if (rising_[link] == 0) continue;
      if (const double now = part(link); now > known * (1 + 1e-12))
        heap_.emplace(now, link);
      else
        fill(link, now);
    }
    for (double& rate : rates_) rate = std::max(rate, 0.0);
    return std::move(rates_);
  }

 private:
  double part(std::size_t link) const { return std::max(left_[link], 0.0) / rising_[link]; }

  void fill(std::size_t link, double rate) {
    for (const std::uint32_t flow : flows_.of(link)) {
      if (rates_[flow] >= 0) continue;
      rates_[flow] = rate;
      for (const std::uint32_t passed : links_of(paths_[flow])) {
        left_[passed] -= rate;
        --rising_[passed];
      }
    }
  }

  std::span<const NetworkPath> paths_;
  FlowsByLink flows_;
  std::vector<double> left_;
  std::vector<std::uint32_t> rising_;  // flows of a link that are not fixed yet
  std::vector<double> rates_;
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

double least_capacity(const NetworkPath& path, const std::vector<double>& capacities) {
  double least = capacities[path.links[0]];
  for (const std::uint32_t link : links_of(path)) least = std::min(least, capacities[link]);
  return least;
}

// Finds the link that binds the slowest pair: on its path the one with the least capacity per flow, which
// fills first.
void add_bottleneck(TrafficForecast& forecast, const Network& network, std::span<const NetworkPath> paths,
                    std::size_t slowest) {
  std::vector<std::uint64_t> flows(network.capacities().size(), 0);
  for (const NetworkPath& path : paths)
    for (const std::uint32_t link : links_of(path)) ++flows[link];
  const std::uint32_t link = *std::ranges::min_element(links_of(paths[slowest]), {}, [&](std::uint32_t one) {
    return network.capacities()[one] / static_cast<double>(flows[one]);
  });
  forecast.bottleneck = network.name_of(link);
  forecast.sharing = flows[link];
}

void summarise(TrafficForecast& forecast, std::vector<double> pairs) {
  std::ranges::sort(pairs);
  forecast.slowest = {pairs.front()};
  forecast.median = {median_of(pairs)};
  forecast.fastest = {pairs.back()};
  forecast.slowed = static_cast<std::uint64_t>(
      std::ranges::lower_bound(pairs, kSlowed * forecast.alone.bits_per_second) - pairs.begin());
}

// Collects the flows of all queue pairs for each pair of GPUs in the pattern.
class FlowList {
 public:
  FlowList(const NetworkPlan& plan, int queue_pairs) : rails_(plan.rails), queue_pairs_(queue_pairs) {}
  void join(int from, int to) {
    for (int rail = 0; rail < rails_; ++rail)
      for (int number = 0; number < queue_pairs_; ++number)
        flows.push_back({from, to, rail, rail, static_cast<std::uint32_t>(number)});
  }
  std::vector<NetworkFlow> flows;

 private:
  int rails_;
  int queue_pairs_;
};

}  // namespace

std::vector<double> fair_rates(std::span<const NetworkPath> paths, const std::vector<double>& capacities) {
  return Filling(paths, capacities).rates();
}

Result<std::vector<NetworkFlow>> traffic(TrafficPattern pattern, const NetworkPlan& plan, int queue_pairs) {
  const auto nodes = static_cast<std::uint64_t>(plan.nodes);
  const std::uint64_t joined = pattern == TrafficPattern::kAllToAll ? nodes * (nodes - 1) : nodes;
  if (queue_pairs < 1 || joined * static_cast<std::uint64_t>(plan.rails * queue_pairs) > kMostFlows)
    return fail(ErrorKind::kBadInput,
                fmt::format("at most {} flows: fewer nodes, or another pattern", kMostFlows));
  FlowList list(plan, queue_pairs);
  for (int node = 0; node < plan.nodes; ++node) {
    if (pattern == TrafficPattern::kRing) list.join(node, (node + 1) % plan.nodes);
    if (pattern == TrafficPattern::kShift) list.join(node, (node + plan.nodes / 2) % plan.nodes);
    if (pattern == TrafficPattern::kIncast && node > 0) list.join(node, 0);
    for (int to = 0; pattern == TrafficPattern::kAllToAll && to < plan.nodes; ++to)
      if (to != node) list.join(node, to);
  }
  return std::move(list.flows);
}

Result<TrafficForecast> forecast_traffic(const Network& network, TrafficPattern pattern, int queue_pairs) {
  ASSIGN_OR_RETURN(const auto flows, traffic(pattern, network.plan(), queue_pairs));
  TrafficForecast forecast;
  std::vector<NetworkPath> paths;
  std::vector<std::size_t> pair_of;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const bool first = (flows)[i].number == 0;
    const auto path = network.path((flows)[i]);
    if (first) ++forecast.pairs;
    if (first && !path) ++forecast.cut;
    if (!path) continue;
    pairs += first ? 1 : 0;
    forecast.most_switches = std::max(forecast.most_switches, path->switches);
    forecast.alone = std::max(forecast.alone, BitRate{least_capacity(*path, network.capacities())});
    paths.push_back(*path);
    pair_of.push_back(pairs - 1);
  }
  if (paths.empty()) return forecast;
  const auto rates = fair_rates(paths, network.capacities());
  std::vector<double> sums(pairs, 0);
  for (std::size_t i = 0; i < paths.size(); ++i) sums[pair_of[i]] += rates[i];
  const auto slowest = std::ranges::min_element(sums) - sums.begin();
  const auto its_first = std::ranges::find(pair_of, static_cast<std::size_t>(slowest)) - pair_of.begin();
  add_bottleneck(forecast, network, paths, static_cast<std::size_t>(its_first));
  summarise(forecast, std::move(sums));
  return forecast;
}

}  // namespace railbed
