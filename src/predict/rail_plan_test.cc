#include "predict/rail_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "inventory/load.h"
#include "predict/switch_advice.h"

namespace railbed {
namespace {

RailPlanRequest request(int nodes, int rails) {
  RailPlanRequest request;
  request.nodes = nodes;
  request.rails = rails;
  request.network = *IpAddress::parse("10.0.0.0");
  return request;
}

RailPlanRequest with_storage(int nodes, int rails, int servers) {
  RailPlanRequest wanted = request(nodes, rails);
  wanted.storage = StorageNetworkRequest{};
  wanted.storage->servers = servers;
  wanted.storage->speed = BitRate::gigabits(40);
  return wanted;
}

// Every end of every cable is used once.
void expect_ports_once(const RailPlan& plan) {
  std::set<std::string> ends;
  std::set<std::string> labels;
  for (const CableRun& cable : plan.cables) {
    EXPECT_TRUE(ends.insert(cable.from.device + " " + cable.from.port).second) << cable.label;
    EXPECT_TRUE(ends.insert(cable.to.device + " " + cable.to.port).second) << cable.label;
    EXPECT_TRUE(labels.insert(cable.label).second) << cable.label;
  }
}

TEST(RailPlan, TwoNodesAreBackToBack) {
  const auto plan = plan_rails(request(2, 2));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->layout, RailLayout::kBackToBack);
  ASSERT_EQ(plan->cables.size(), 2u);
  EXPECT_EQ(plan->cables[1].label, "R1-01");
  EXPECT_EQ(plan->cables[1].from.device, "gpu01");
  EXPECT_EQ(plan->cables[1].to.port, "eth101");
  EXPECT_EQ(plan->cluster.rails[1].ports[1].address->to_text(), "10.1.0.2");
  EXPECT_FALSE(plan->chosen);
}

TEST(RailPlan, OneSwitchWhereItHasThePorts) {
  const auto plan = plan_rails(request(4, 8));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->layout, RailLayout::kOneSwitch);
  EXPECT_EQ(plan->switch_ports, 32);
  EXPECT_EQ(plan->chosen->model, "SN2700");
  EXPECT_EQ(plan->chosen->spare, 0);
  EXPECT_EQ(plan->cables.back().to.port, "32");
  expect_ports_once(*plan);
}

TEST(RailPlan, ASwitchARailWhereOneIsTooSmall) {
  RailPlanRequest wanted = request(32, 8);
  wanted.switch_model = "SN2700";
  const auto plan = plan_rails(wanted);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->layout, RailLayout::kSwitchPerRail);
  EXPECT_EQ(plan->chosen->count(), 8);
  EXPECT_EQ(plan->cables[32].to.device, "rail1-switch1");
  expect_ports_once(*plan);
}

// 100 nodes on leaves of 32 ports: sixteen down, so seven leaves; 112 ports up on spines of 32: four.
TEST(RailPlan, LeavesAndSpinesAboveThat) {
  RailPlanRequest wanted = request(100, 1);
  wanted.switch_model = "SN2700";
  const auto plan = plan_rails(wanted);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->layout, RailLayout::kLeafSpinePerRail);
  EXPECT_EQ(plan->chosen->leaves, 7);
  EXPECT_EQ(plan->chosen->spines, 4);
  EXPECT_EQ(plan->chosen->spare, 12);
  EXPECT_EQ(plan->cables.size(), 100u + 7 * 16);
  expect_ports_once(*plan);
}

TEST(RailPlan, WhatIsWrittenIsReadBack) {
  for (const Fabric fabric : {Fabric::kRoce, Fabric::kInfiniband})
    for (const int nodes : {2, 5, 300}) {
      RailPlanRequest wanted = request(nodes, 2);
      wanted.fabric = fabric;
      const auto plan = plan_rails(wanted);
      ASSERT_TRUE(plan) << nodes;
      const auto read = parse_cluster(write_cluster(plan->cluster), "cluster.yaml");
      ASSERT_TRUE(read) << read.error().text;
      EXPECT_EQ(read->nodes.size(), static_cast<std::size_t>(nodes));
      EXPECT_EQ(read->rails[1].ports.back().address, plan->cluster.rails[1].ports.back().address);
    }
  const auto plan = plan_rails(with_storage(3, 2, 2));
  const auto read = parse_cluster(write_cluster(plan->cluster), "cluster.yaml");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->rails[1].purpose, RailPurpose::kCompute);
  EXPECT_EQ(read->rails[2].purpose, RailPurpose::kStorage);
}

TEST(RailPlan, StorageHasSwitchesOfItsOwn) {
  const auto plan = plan_rails(with_storage(4, 2, 1));
  ASSERT_TRUE(plan);
  expect_ports_once(*plan);
  EXPECT_EQ(plan->switch_ports, 8);
  ASSERT_TRUE(plan->storage);
  EXPECT_EQ(plan->storage->switch_ports, 5);
  EXPECT_DOUBLE_EQ(plan->storage->for_each_node.gigabits(), 10);
  ASSERT_EQ(plan->cluster.rails.size(), 3u);
  const Rail& storage = plan->cluster.rails.back();
  EXPECT_EQ(storage.purpose, RailPurpose::kStorage);
  EXPECT_DOUBLE_EQ(storage.speed->gigabits(), 40);
  EXPECT_EQ(storage.ports.size(), 5u);
  EXPECT_EQ(storage.ports.back().node, "store01");
  EXPECT_EQ(plan->cluster.rails[0].ports.size(), 4u);
  EXPECT_EQ(plan->cables.back().label, "S-05");
  EXPECT_EQ(plan->cables.back().to.device, "storage-switch1");
  ASSERT_EQ(plan->cluster.parts.size(), 2u);
  EXPECT_EQ(plan->cluster.parts[0].rails, (std::vector<std::string>{"rail0", "rail1"}));
  EXPECT_EQ(plan->cluster.parts[1].rails, std::vector<std::string>{"storage"});
}

// A node gets no more than its port carries, however many servers there are.
TEST(RailPlan, ServersGiveANodeNoMoreThanItsPort) {
  EXPECT_DOUBLE_EQ(plan_rails(with_storage(2, 1, 6))->storage->for_each_node.gigabits(), 40);
  EXPECT_DOUBLE_EQ(plan_rails(with_storage(8, 1, 2))->storage->for_each_node.gigabits(), 10);
}

TEST(RailPlan, TwoNodesStayBackToBackBesideStorage) {
  const auto plan = plan_rails(with_storage(2, 1, 1));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->layout, RailLayout::kBackToBack);
  EXPECT_EQ(plan->cluster.rails[0].topology, Topology::kBackToBack);
  EXPECT_EQ(plan->cluster.rails[1].topology, Topology::kSwitch);
}

TEST(RailPlan, ALargeStorageNetworkHasLeavesAndSpines) {
  RailPlanRequest wanted = with_storage(90, 1, 10);
  wanted.storage->switch_model = "7050QX-32";
  const auto plan = plan_rails(wanted);
  ASSERT_TRUE(plan) << plan.error().text;
  expect_ports_once(*plan);
  EXPECT_EQ(plan->storage->layout, RailLayout::kLeafSpinePerRail);
  EXPECT_EQ(plan->cluster.parts.back().name, "storage-spine4");
}

TEST(RailPlan, SchedulersDoNotSeeTheStorageNetwork) {
  const auto plan = plan_rails(with_storage(4, 1, 2));
  ASSERT_TRUE(plan);
  const Wiring wiring = wiring_of(*plan);
  EXPECT_EQ(wiring.nodes.size(), 4u);
  ASSERT_EQ(wiring.switches.size(), 1u);
  EXPECT_EQ(wiring.switches.front().name, "switch1");
}

TEST(RailPlan, RefusesStorageThatCannotBe) {
  EXPECT_FALSE(plan_rails(with_storage(4, 1, 0)));
  EXPECT_FALSE(plan_rails(with_storage(4000, 1, 97)));
  RailPlanRequest odd = with_storage(4, 1, 1);
  odd.storage->prefix = odd.prefix;
  EXPECT_FALSE(plan_rails(odd));
  odd = with_storage(4, 1, 1);
  odd.interfaces = {"ens6"};
  odd.storage->interface = "ens6";
  EXPECT_FALSE(plan_rails(odd));
  odd.storage->interface = "";
  odd.interfaces = {"eth101"};  // what storage would have
  EXPECT_FALSE(plan_rails(odd));
  odd.interfaces = {};
  odd.storage->interface = "eth100";  // what rail 0 has
  EXPECT_FALSE(plan_rails(odd));
  odd = with_storage(4, 1, 1);
  odd.storage->switch_model = "IS5022";
  EXPECT_FALSE(plan_rails(odd));
}

TEST(RailPlan, SaysWhatItCannot) {
  EXPECT_FALSE(plan_rails(request(1, 1)));
  EXPECT_FALSE(plan_rails(request(2, 17)));
  RailPlanRequest odd = request(4, 1);
  odd.switch_model = "IS5022";  // InfiniBand of 40 Gb/s
  EXPECT_FALSE(plan_rails(odd));
  odd = request(4, 1);
  odd.network = *IpAddress::parse("10.0.0.7");
  EXPECT_FALSE(plan_rails(odd));
  odd.network = *IpAddress::parse("fd00::");
  EXPECT_FALSE(plan_rails(odd));
  odd = request(4, 2);
  odd.interfaces = {"eth0"};
  EXPECT_FALSE(plan_rails(odd));
}

SwitchQuestion question(int nodes, int ports) {
  SwitchQuestion question;
  question.nodes = nodes;
  question.ports = ports;
  return question;
}

TEST(SwitchAdvice, TwoNodesNeedNone) {
  const auto advice = advise_switch(question(2, 2));
  EXPECT_EQ(advice.advised, "back to back");
  EXPECT_DOUBLE_EQ(advice.choices[0].pair.gigabits(), 200);
  EXPECT_DOUBLE_EQ(advice.choices[2].latency_low.count(), 850 + 300);
}

TEST(SwitchAdvice, ThreeNodesOfTwoPortsAreARing) {
  const auto advice = advise_switch(question(3, 2));
  EXPECT_EQ(advice.advised, "ring without a switch");
  EXPECT_EQ(advice.choices[1].cables, 3);
  EXPECT_DOUBLE_EQ(advice.choices[1].pair.gigabits(), 100);
  EXPECT_DOUBLE_EQ(advice.choices[1].ring.gigabits(), 200);
  EXPECT_EQ(advise_switch(question(3, 1)).advised, "one switch");
}

std::string needs_of(const WiringChoice& choice) {
  std::string all;
  for (const std::string& need : choice.needs) all += need + '\n';
  return all;
}

// Each cable of a ring leads to another node.
TEST(SwitchAdvice, ARingOfThreeNeedsSubnets) {
  EXPECT_NE(needs_of(advise_switch(question(3, 2)).choices[1]).find("NCCL_IB_SUBNET_AWARE_ROUTING=1"),
            std::string::npos);
  EXPECT_TRUE(advise_switch(question(2, 2)).choices[0].needs.empty());
  SwitchQuestion infiniband = question(3, 2);
  infiniband.fabric = Fabric::kInfiniband;
  const auto advice = advise_switch(infiniband);
  EXPECT_NE(needs_of(advice.choices[1]).find("a subnet manager for each cable"), std::string::npos);
  EXPECT_EQ(advice.advised, "one switch");  // NCCL pairs Ethernet ports alone by subnet
  infiniband.nodes = 2;
  EXPECT_NE(needs_of(advise_switch(infiniband).choices[0]).find("a subnet manager for each cable"),
            std::string::npos);
}

TEST(SwitchAdvice, FourInARingDoNotStartAndAMeshDoes) {
  const auto ring = advise_switch(question(4, 2)).choices[1];
  EXPECT_FALSE(ring.possible);
  EXPECT_NE(ring.why.find("stock NCCL does not start"), std::string::npos);
  const auto advice = advise_switch(question(4, 3));
  EXPECT_EQ(advice.advised, "mesh without a switch");
  EXPECT_EQ(advice.choices[1].cables, 6);
  EXPECT_TRUE(advice.choices[1].any_to_any);
  EXPECT_DOUBLE_EQ(advice.choices[1].pair.gigabits(), 100);
}

// A switch's slower ports count for slower rails only.
TEST(RailPlan, PortsOfTwoSpeeds) {
  const auto fits = [](int nodes, double gigabits) {
    for (const SwitchFit& fit : switches_that_fit(nodes, 1, Fabric::kRoce, BitRate::gigabits(gigabits)))
      if (fit.model == "SN2010") return fit;
    return SwitchFit{};
  };
  EXPECT_EQ(fits(4, 100).ports, 4);
  EXPECT_EQ(fits(20, 25).ports, 22);
  EXPECT_EQ(fits(20, 25).count(), 1);
}

TEST(SwitchAdvice, MoreNodesNeedASwitchAndThenSpines) {
  EXPECT_EQ(advise_switch(question(4, 2)).advised, "one switch");
  EXPECT_FALSE(advise_switch(question(4, 2)).choices[1].any_to_any);
  const auto many = advise_switch(question(1000, 1));
  EXPECT_EQ(many.advised, "leaves and spines");
  EXPECT_DOUBLE_EQ(many.choices[2].latency_low.count(), 850 + 3 * 300);
}

}  // namespace
}  // namespace railbed
