#include "predict/topology.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "predict/testing/network_plan.h"

namespace railbed {
namespace {

std::vector<std::string> names_on(const Network& network, const NetworkFlow& flow) {
  const auto path = network.path(flow);
  std::vector<std::string> names;
  for (int i = 0; path && i < path->length; ++i)
    names.push_back(network.name_of(path->links[static_cast<std::size_t>(i)]));
  return names;
}

using Names = std::vector<std::string>;

TEST(Topology, BackToBackIsACableAndNothingElse) {
  const auto network = Network::build(plan_of(NetworkShape::kBackToBack, 2, 2));
  ASSERT_TRUE(network);
  EXPECT_EQ(names_on(*network, {0, 1, 1, 1}), (Names{"out of port 1 of node 0", "into port 1 of node 1"}));
  EXPECT_EQ(network->path({0, 1, 1, 1})->switches, 0);
  EXPECT_FALSE(Network::build(plan_of(NetworkShape::kBackToBack, 3, 1)));
}

TEST(Topology, OneSwitchIsOneHop) {
  const auto network = Network::build(plan_of(NetworkShape::kSwitch, 4, 1));
  EXPECT_EQ(network->path({0, 3, 0, 0})->switches, 1);
  EXPECT_EQ(network->leaves(), 1);
  EXPECT_DOUBLE_EQ(network->oversubscription(), 1);
}

// Eight nodes of one port, four below a leaf: two leaves, and with four spines no oversubscription.
TEST(Topology, LeavesReachEachOtherOverASpine) {
  NetworkPlan plan = plan_of(NetworkShape::kLeafSpine, 8, 1);
  plan.leaf_ports = 4;
  const auto network = Network::build(plan);
  EXPECT_EQ(network->leaves(), 2);
  EXPECT_EQ(network->spines(), 4);
  EXPECT_DOUBLE_EQ(network->oversubscription(), 1);
  EXPECT_EQ(network->path({0, 3, 0, 0})->length, 2);  // on one leaf
  const auto path = network->path({0, 4, 0, 0});
  EXPECT_EQ(path->length, 4);
  EXPECT_EQ(path->switches, 3);
  plan.spines = 1;
  plan.uplink = BitRate::gigabits(200);
  EXPECT_DOUBLE_EQ(Network::build(plan)->oversubscription(), 2);
}

TEST(Topology, TheHashKeepsAFlowOnItsWayAndSpreadsOthers) {
  NetworkPlan plan = plan_of(NetworkShape::kLeafSpine, 8, 1);
  plan.leaf_ports = 4;
  const auto network = Network::build(plan);
  std::set<std::string> ways;
  for (std::uint32_t number = 0; number < 64; ++number) {
    const auto names = names_on(*network, {0, 4, 0, 0, number});
    EXPECT_EQ(names, names_on(*network, {0, 4, 0, 0, number}));
    EXPECT_EQ(names[1].back(), names[2][6]);  // down from the spine that it went up to
    ways.insert(names[1]);
  }
  EXPECT_EQ(ways.size(), 4u);
  plan.seed = 7;
  const auto other = Network::build(plan);
  int moved = 0;
  for (std::uint32_t number = 0; number < 64; ++number)
    moved += names_on(*network, {0, 4, 0, 0, number}) != names_on(*other, {0, 4, 0, 0, number}) ? 1 : 0;
  EXPECT_GT(moved, 16);
}

TEST(Topology, RailsChangeInsideTheSendersNode) {
  NetworkPlan plan = plan_of(NetworkShape::kRailOptimised, 8, 2);
  plan.leaf_ports = 4;
  plan.inside = BitRate::gigabits(400);
  const auto network = Network::build(plan);
  EXPECT_EQ(network->leaves(), 4);
  EXPECT_EQ(names_on(*network, {0, 3, 0, 1}), (Names{"inside, port 0 of node 0", "inside, port 1 of node 0",
                                                     "out of port 1 of node 0", "into port 1 of node 3"}));
}

TEST(Topology, RailOnlySpinesBelongToARail) {
  NetworkPlan plan = plan_of(NetworkShape::kRailOnly, 8, 2);
  plan.leaf_ports = 4;
  plan.spines = 2;
  const auto network = Network::build(plan);
  EXPECT_EQ(network->spines(), 4);
  for (std::uint32_t number = 0; number < 16; ++number)
    for (int rail = 0; rail < 2; ++rail) {
      const std::string up = names_on(*network, {0, 7, rail, rail, number})[1];
      EXPECT_EQ(up, fmt::format("leaf {} to spine {}", rail, up.back()));
      EXPECT_EQ((up.back() - '0') / 2, rail);
    }
  plan.leaf_ports = 8;  // a leaf for all nodes: no spines at all
  EXPECT_EQ(Network::build(plan)->spines(), 0);
}

TEST(Topology, ABondCarriesAFlowOnOneMember) {
  const auto network = Network::build(plan_of(NetworkShape::kLag, 4, 2));
  std::set<std::string> members;
  for (std::uint32_t number = 0; number < 32; ++number) {
    const auto names = names_on(*network, {0, 1, 0, 0, number});
    ASSERT_EQ(names.size(), 2u);
    members.insert(names[0]);
  }
  EXPECT_EQ(members.size(), 2u);
}

TEST(Topology, WhatIsBrokenIsGoneRoundOrCutsOff) {
  using Kind = BrokenPart::Kind;
  NetworkPlan plan = plan_of(NetworkShape::kLeafSpine, 8, 1);
  plan.leaf_ports = 4;
  plan.spines = 2;
  // Spine 0 of the other leaf cannot be reached: everything goes by spine 1.
  const auto uplink = Network::build(plan, {{Kind::kUplink, 1, 0}});
  for (std::uint32_t number = 0; number < 16; ++number)
    EXPECT_EQ(names_on(*uplink, {0, 4, 0, 0, number})[1], "leaf 0 to spine 1");
  EXPECT_FALSE(Network::build(plan, {{Kind::kSpine, 0}, {Kind::kSpine, 1}})->path({0, 4, 0, 0}));
  EXPECT_TRUE(Network::build(plan, {{Kind::kSpine, 0}, {Kind::kSpine, 1}})->path({0, 3, 0, 0}));
  EXPECT_FALSE(Network::build(plan, {{Kind::kLeaf, 1}})->path({0, 4, 0, 0}));
  EXPECT_FALSE(Network::build(plan, {{Kind::kAdapter, 0, 0}})->path({0, 1, 0, 0}));
  EXPECT_FALSE(Network::build(plan, {{Kind::kSpine, 2}}));
}

TEST(Topology, ABrokenAdaptersFlowsTakeTheNextRail) {
  using Kind = BrokenPart::Kind;
  const NetworkPlan plan = plan_of(NetworkShape::kRailOnly, 4, 2);
  const auto network = Network::build(plan, {{Kind::kAdapter, 1, 0}});
  EXPECT_EQ(names_on(*network, {0, 1, 0, 0}), (Names{"out of port 1 of node 0", "into port 1 of node 1"}));
  // Each end has one port left, on rails that nothing joins.
  EXPECT_FALSE(Network::build(plan, {{Kind::kAdapter, 1, 0}, {Kind::kAdapter, 0, 1}})->path({0, 1, 0, 0}));
}

TEST(Topology, NonsenseIsRefused) {
  NetworkPlan plan = plan_of(NetworkShape::kLeafSpine, 8, 8);
  plan.leaf_ports = 4;
  EXPECT_FALSE(Network::build(plan));
  plan = plan_of(NetworkShape::kSwitch, 1, 1);
  EXPECT_FALSE(Network::build(plan));
  plan = plan_of(NetworkShape::kSwitch, 2, 1);
  plan.port = {};
  EXPECT_FALSE(Network::build(plan));
}

}  // namespace
}  // namespace railbed
