#include "predict/contention.h"

#include <gtest/gtest.h>

#include "predict/testing/network_plan.h"

namespace railbed {
namespace {

NetworkPath path_of(std::initializer_list<std::uint32_t> links) {
  NetworkPath path;
  for (const std::uint32_t link : links) path.add(link);
  return path;
}

// Bertsekas and Gallager's kind of example: three flows over two links of 10 and 4. The second link fills
// first, at 2 for each of its two; the flow on the first link alone gets the 8 that are left.
TEST(FairRates, AFlowTakesWhatOthersCannot) {
  const std::vector<NetworkPath> paths = {path_of({0}), path_of({0, 1}), path_of({1})};
  EXPECT_EQ(fair_rates(paths, {10, 4}), (std::vector<double>{8, 2, 2}));
}

// Link 0 of 12 with three flows (4 each) fills before link 1 of 10 with two (then 6 are left for one).
TEST(FairRates, LinksFillInTheOrderOfWhatTheyHaveForEach) {
  const std::vector<NetworkPath> paths = {path_of({0}), path_of({0}), path_of({0, 1}), path_of({1}),
                                          path_of({1, 2})};
  // 12/3 = 4; link 1: 10/3 = 3.33 is less: it fills first, then link 2 of 1 even before: 1.
  EXPECT_EQ(fair_rates(paths, {12, 10, 1}), (std::vector<double>{4, 4, 4, 5, 1}));
}

TEST(FairRates, NothingPassesABrokenLink) {
  EXPECT_EQ(fair_rates(std::vector<NetworkPath>{path_of({0, 1}), path_of({1})}, {0, 10}),
            (std::vector<double>{0, 10}));
}

TrafficForecast forecast(const NetworkPlan& plan, TrafficPattern pattern, int queue_pairs = 1,
                         const std::vector<BrokenPart>& broken = {}) {
  const auto network = Network::build(plan, broken);
  const auto result = forecast_traffic(*network, pattern, queue_pairs);
  return result ? *result : TrafficForecast{};
}

TEST(Traffic, ARingOverOneSwitchRunsAtThePortsSpeed) {
  const auto result = forecast(plan_of(NetworkShape::kSwitch, 8, 4), TrafficPattern::kRing);
  EXPECT_EQ(result.pairs, 32u);
  EXPECT_DOUBLE_EQ(result.slowest.gigabits(), 100);
  EXPECT_EQ(result.slowed, 0u);
  EXPECT_EQ(result.most_switches, 1);
}

TEST(Traffic, IncastSharesTheReceiversPort) {
  const auto result = forecast(plan_of(NetworkShape::kSwitch, 5, 1), TrafficPattern::kIncast);
  EXPECT_DOUBLE_EQ(result.fastest.gigabits(), 25);
  EXPECT_EQ(result.bottleneck, "into port 0 of node 0");
  EXPECT_EQ(result.sharing, 4u);
}

// Every node sends to the other leaf: eight ports below, four uplinks, whatever the hash does.
TEST(Traffic, OversubscriptionHalvesTheMeanOfAShift) {
  NetworkPlan plan = plan_of(NetworkShape::kLeafSpine, 16, 1);
  plan.leaf_ports = 8;
  plan.spines = 4;
  const auto result = forecast(plan, TrafficPattern::kShift);
  EXPECT_DOUBLE_EQ(Network::build(plan)->oversubscription(), 2);
  EXPECT_LE(result.slowest.gigabits(), 50);
  EXPECT_TRUE(result.bottleneck.starts_with("leaf ") || result.bottleneck.starts_with("spine "));
  // All uplinks on one spine with one cable: no luck is involved, each gets an eighth.
  plan.spines = 1;
  EXPECT_DOUBLE_EQ(forecast(plan, TrafficPattern::kShift).fastest.gigabits(), 12.5);
}

// The same ring: rail-optimised leaves keep it below one switch, and hashing cannot hurt it.
TEST(Traffic, RailsKeepARingFromTheSpines) {
  NetworkPlan plan = plan_of(NetworkShape::kRailOptimised, 16, 8);
  plan.leaf_ports = 16;
  EXPECT_DOUBLE_EQ(forecast(plan, TrafficPattern::kRing).slowest.gigabits(), 100);
  plan.shape = NetworkShape::kLeafSpine;
  const auto hashed = forecast(plan, TrafficPattern::kRing);
  EXPECT_LT(hashed.slowest.gigabits(), 100);
  EXPECT_GT(hashed.slowed, 0u);
}

TEST(Traffic, MoreQueuePairsEvenOutTheHash) {
  NetworkPlan plan = plan_of(NetworkShape::kLeafSpine, 64, 1);
  plan.leaf_ports = 16;
  const auto one = forecast(plan, TrafficPattern::kShift);
  const auto many = forecast(plan, TrafficPattern::kShift, 16);
  EXPECT_LT(one.slowest, many.slowest);
}

TEST(Traffic, OfABondAPairNeverExceedsOnePort) {
  const auto bond = forecast(plan_of(NetworkShape::kLag, 2, 2), TrafficPattern::kRing);
  EXPECT_LE(bond.fastest.gigabits(), 100);
  EXPECT_DOUBLE_EQ(bond.alone.gigabits(), 100);
  const auto rails = forecast(plan_of(NetworkShape::kSwitch, 2, 2), TrafficPattern::kRing);
  EXPECT_DOUBLE_EQ(rails.slowest.gigabits(), 100);  // both of them, always
}

TEST(Traffic, ABrokenAdapterHalvesWhoSharesTheNext) {
  const auto result = forecast(plan_of(NetworkShape::kRailOnly, 4, 2), TrafficPattern::kRing, 1,
                               {{BrokenPart::Kind::kAdapter, 1, 0}});
  EXPECT_EQ(result.cut, 0u);
  EXPECT_DOUBLE_EQ(result.slowest.gigabits(), 50);
  EXPECT_DOUBLE_EQ(result.fastest.gigabits(), 100);
}

TEST(Traffic, ABrokenSwitchCutsItsNodesOff) {
  NetworkPlan plan = plan_of(NetworkShape::kLeafSpine, 8, 1);
  plan.leaf_ports = 4;
  const auto result = forecast(plan, TrafficPattern::kRing, 1, {{BrokenPart::Kind::kLeaf, 1}});
  EXPECT_EQ(result.cut, 5u);  // four that send there or from there on, and the sender to the first of them
  EXPECT_EQ(
      forecast(plan_of(NetworkShape::kSwitch, 4, 1), TrafficPattern::kRing, 1, {{BrokenPart::Kind::kLeaf, 0}})
          .cut,
      4u);
}

TEST(Traffic, AllToAllKeepsToItsLimit) {
  EXPECT_TRUE(traffic(TrafficPattern::kAllToAll, plan_of(NetworkShape::kSwitch, 64, 1), 1));
  EXPECT_FALSE(traffic(TrafficPattern::kAllToAll, plan_of(NetworkShape::kSwitch, 8192, 8), 1));
}

}  // namespace
}  // namespace railbed
