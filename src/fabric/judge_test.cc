#include "fabric/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fabric/layout.h"
#include "fabric/testing/evidence.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using told::fat_tree;
using told::live_tree;
using told::planned;
using told::plug;
using told::rails_tree;
using told::unplanned;
using told::unplug;
using told::without_last_leaf;

// Returns "rule: message" of each red finding that no other explains.
std::vector<std::string> red(const FabricEvidence& evidence) {
  std::vector<std::string> out;
  std::set<std::string_view> known;
  for (const Rule& rule : subnet_rules()) known.insert(rule.id);
  for (const Finding& finding : verify_fabric(evidence).findings) {
    EXPECT_TRUE(known.contains(finding.rule)) << finding.rule;
    if (severity(finding.status) < severity(Status::kPass) && !finding.caused_by)
      out.push_back(std::string(finding.rule) + ": " + finding.message);
  }
  return out;
}

FabricEvidence counted(std::uint64_t first, std::uint64_t second,
                       IbCounter which = IbCounter::kSymbolErrors) {
  FabricEvidence evidence = unplanned(live_tree());
  IbCounterReading reading{{0, 1}, {}, IbCounts{}};
  reading.first.value[static_cast<std::size_t>(which)] = first;
  reading.second->value[static_cast<std::size_t>(which)] = second;
  evidence.counters = IbCounterLook{{reading}, 0, 10};
  return evidence;
}

TEST(JudgeFabric, HealthyTreesHaveNoFinding) {
  EXPECT_THAT(red(planned(fat_tree())), IsEmpty());
  EXPECT_THAT(red(planned(live_tree())), IsEmpty());
  EXPECT_THAT(red(unplanned(live_tree())), IsEmpty());
  EXPECT_THAT(red(unplanned(rails_tree(2))), IsEmpty());
}

TEST(JudgeFabric, EveryRuleSpeaksOnce) {
  FabricEvidence idle = unplanned(live_tree());
  idle.fabric.managers.clear();
  idle.fabric.port({0, 1}).state = IbState::kInit;
  for (const FabricEvidence& evidence : {planned(live_tree()), unplanned(fat_tree()), idle}) {
    std::multiset<std::string_view> spoke;
    for (const Finding& finding : verify_fabric(evidence).findings) spoke.insert(finding.rule);
    for (const Rule& rule : subnet_rules()) EXPECT_EQ(spoke.count(rule.id), 1U) << rule.id;
  }
}

TEST(JudgeFabric, AMissingCable) {
  IbFabric fabric = fat_tree();
  unplug(fabric, {1, 5});
  EXPECT_THAT(
      red(planned(fabric)),
      ElementsAre("fabric.missing-link: there is no link between port 5 of leaf1 and port 2 of spine0, which "
                  "the plan wants"));
  EXPECT_THAT(
      red(unplanned(fabric)),
      ElementsAre("fabric.incomplete: leaf1 has 3 cables up, the switches beside it have 4: port 5 is "
                  "dark, which goes to spine0 on the others"));
}

TEST(JudgeFabric, ASwapIsOneFindingThatSaysWhatToDo) {
  IbFabric fabric = fat_tree();
  plug(fabric, {3, 1}, {8 + 13, 1});
  plug(fabric, {3, 2}, {8 + 12, 1});
  EXPECT_THAT(
      red(planned(fabric)),
      ElementsAre("fabric.cabling: the cable in port 1 of leaf3 goes to node13 mlx5_0 port 1; the plan wants "
                  "node12 mlx5_0 port 1 there: swap it with the cable in port 2"));
}

TEST(JudgeFabric, ASwapOfEqualCablesOnlyWarns) {
  IbFabric plan = fat_tree(), fabric = fat_tree();
  plug(plan, {0, 9}, {4, 6});
  plug(fabric, {0, 9}, {4, 1});
  plug(fabric, {0, 5}, {4, 6});
  FabricEvidence evidence = unplanned(fabric);
  evidence.plan = plan;
  for (const Finding& finding : verify_fabric(evidence).findings)
    if (finding.rule == "fabric.cabling") {
      EXPECT_EQ(finding.status, Status::kWarn);
    }
  EXPECT_EQ(red(evidence).size(), 1U);
}

TEST(JudgeFabric, ACableInAnEmptyHole) {
  IbFabric fabric = fat_tree();
  unplug(fabric, {2, 1});
  plug(fabric, {2, 10}, {8 + 8, 1});
  EXPECT_THAT(
      red(planned(fabric)),
      ElementsAre(
          "fabric.cabling: the cable of node8 mlx5_0 port 1 is in port 10 of leaf2; the plan wants it "
          "in port 1 of leaf2: move it there"));
}

TEST(JudgeFabric, ARingOfThree) {
  IbFabric fabric = fat_tree();
  plug(fabric, {0, 1}, {8 + 1, 1});
  plug(fabric, {0, 2}, {8 + 2, 1});
  plug(fabric, {0, 3}, {8 + 0, 1});
  EXPECT_THAT(red(planned(fabric)), ElementsAre(HasSubstr("3 cables are not where the plan wants them")));
}

TEST(JudgeFabric, ADeadLeafExplainsWhatIsBehindIt) {
  EXPECT_THAT(red(planned(without_last_leaf())),
              ElementsAre("fabric.missing-node: the switch leaf3 is not in the subnet: its 8 "
                          "cables are dark, and 4 nodes behind it cannot be reached"));
}

TEST(JudgeFabric, AHostWithoutAnyHca) {
  IbFabric plan = rails_tree(2);
  FabricEvidence evidence = unplanned(rails_tree(2));
  evidence.plan = plan;
  plan.nodes[6].description = "host9 mlx5_0";
  plan.nodes[6].guid = plan.nodes[6].port_guid = 0x9000;
  plan.nodes[9].description = "host9 mlx5_1";
  plan.nodes[9].guid = plan.nodes[9].port_guid = 0x9001;
  evidence.plan = plan;
  unplug(evidence.fabric, {0, 3});
  unplug(evidence.fabric, {1, 3});
  evidence.fabric.nodes.erase(evidence.fabric.nodes.begin() + 9);
  evidence.fabric.nodes.erase(evidence.fabric.nodes.begin() + 6);
  for (IbNode& node : evidence.fabric.nodes)
    for (IbPort& port : node.ports)
      if (port.peer.node > 6) --port.peer.node;
  EXPECT_THAT(red(evidence),
              ElementsAre("fabric.missing-node: host9 is not in the subnet: none of its 2 HCAs answers"));
}

// Returns a tree with the plan of another, none of whose nodes it has.
FabricEvidence planned_elsewhere() {
  IbFabric plan = fat_tree();
  for (IbNode& node : plan.nodes) {
    node.guid += 0x100000;
    node.description += "x";
  }
  return planned(fat_tree(), std::move(plan));
}

TEST(JudgeFabric, AnotherSubnetsPlan) {
  EXPECT_THAT(red(planned_elsewhere()), ElementsAre(HasSubstr("no node of the plan is in this subnet")));
}

TEST(JudgeFabric, AHostOfClusterYaml) {
  FabricEvidence evidence = unplanned(fat_tree());
  evidence.hosts = {"node3", "gpu01"};
  EXPECT_THAT(red(evidence),
              ElementsAre("fabric.missing-node: gpu01 of cluster.yaml has no HCA in this subnet"));
}

TEST(JudgeFabric, ReplacedAndUnplannedNodes) {
  IbFabric fabric = fat_tree();
  fabric.nodes[10].guid = 0x7777;
  EXPECT_THAT(red(planned(fabric)), ElementsAre(HasSubstr("fabric.replaced: node2 mlx5_0")));
  fabric = fat_tree();
  fabric.nodes.push_back(told::ib_node(IbNodeType::kHca, 0x8888, 1, "guest"));
  plug(fabric, {0, 10}, {static_cast<int>(fabric.nodes.size()) - 1, 1});
  EXPECT_THAT(red(planned(fabric)),
              ElementsAre("fabric.unplanned: guest is not in the plan; it is cabled to port 10 of leaf0"));
}

TEST(JudgeFabric, NarrowSlowAndUnequalLinks) {
  IbFabric fabric = fat_tree();
  plug(fabric, {0, 1}, {8, 1}, {1, IbSpeed::kHdr});
  EXPECT_THAT(red(planned(fabric)),
              ElementsAre(HasSubstr("fabric.width: the cable between port 1 of leaf0 and port 1 of "
                                    "node0 mlx5_0 runs on 1 of 4 lanes")));
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("fabric.width")));
  fabric = fat_tree();
  plug(fabric, {0, 1}, {8, 1}, {4, IbSpeed::kEdr});
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("runs at EDR instead of HDR")));
  fabric = fat_tree();
  fabric.port(IbEnd{8, 1}).active = {1, IbSpeed::kHdr};
  EXPECT_THAT(red(planned(fabric)), ElementsAre(HasSubstr("fabric.asymmetry")));
}

TEST(JudgeFabric, OneLaneIsNarrowWhateverElseIsKnown) {
  IbFabric fabric = fat_tree({1, 2, 0});
  for (const IbEnd& end : {IbEnd{0, 1}, IbEnd{1, 1}}) {
    fabric.port(end).supported = {};
    fabric.port(end).active = {1, IbSpeed::kSdr};
  }
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("runs on 1 of 4 lanes")));
}

TEST(JudgeFabric, WhatBothEndsCanIsWanted) {
  IbFabric fabric = fat_tree({1, 2, 0});
  for (const IbEnd& end : {IbEnd{0, 1}, IbEnd{1, 1}}) {
    fabric.port(end).supported = {12, IbSpeed::kNdr};
    fabric.port(end).active = {4, IbSpeed::kHdr};
  }
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("runs at HDR instead of NDR")));
}

TEST(JudgeFabric, DuplicateIdentities) {
  IbFabric fabric = fat_tree();
  fabric.nodes[9].guid = fabric.nodes[8].guid;
  EXPECT_THAT(red(unplanned(fabric)),
              ElementsAre("fabric.duplicate-guid: the GUID 0x0000000000003000 is claimed by node0 "
                          "mlx5_0 and node1 mlx5_0"));
  fabric = fat_tree();
  fabric.port(IbEnd{9, 1}).lid = fabric.port(IbEnd{8, 1}).lid;
  EXPECT_THAT(red(unplanned(fabric)),
              ElementsAre("fabric.duplicate-lid: LID 9 is claimed by node0 mlx5_0 and node1 mlx5_0"));
  fabric = fat_tree();
  fabric.conflicts.push_back({0x42, "one is behind port 3"});
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("fabric.duplicate-guid")));
}

TEST(JudgeFabric, Managers) {
  IbFabric fabric = live_tree();
  fabric.managers.clear();
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("fabric.no-manager")));
  for (IbNode& node : fabric.nodes)
    for (IbPort& port : node.ports)
      if (port.peer) port.state = IbState::kInit;
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("fabric.no-manager")));
  fabric = live_tree();
  fabric.managers.push_back(fabric.managers.front());
  fabric.managers.back().end.node = 12;
  EXPECT_THAT(red(unplanned(fabric)),
              ElementsAre(HasSubstr("fabric.two-managers: 2 subnet managers are master at once")));
  fabric.managers.back().state = IbManagerState::kStandby;
  EXPECT_THAT(red(unplanned(fabric)), IsEmpty());
}

TEST(JudgeFabric, StatesAndSilence) {
  IbFabric fabric = live_tree();
  fabric.port(IbEnd{0, 1}).state = IbState::kInit;
  EXPECT_THAT(red(unplanned(fabric)),
              ElementsAre(HasSubstr("fabric.port-state: the cable between port 1 of leaf0")));
  fabric = live_tree();
  fabric.silent.push_back({{0, 9}, "no answer to NodeInfo"});
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("fabric.silent: port 9 of leaf0")));
}

TEST(JudgeFabric, Oversubscription) {
  FabricEvidence evidence = unplanned(fat_tree());
  evidence.oversubscription = 0.5;
  EXPECT_EQ(red(evidence).size(), 4U);
  EXPECT_THAT(red(evidence).front(), HasSubstr("leaf0 has 800 Gb/s of HCAs and 800 Gb/s up, 1:1"));
  evidence.oversubscription.reset();
  const int guest = static_cast<int>(evidence.fabric.nodes.size());
  evidence.fabric.nodes.push_back(told::ib_node(IbNodeType::kHca, 0x8888, 1, "guest"));
  plug(evidence.fabric, {0, 10}, {guest, 1});
  EXPECT_THAT(red(evidence), ElementsAre(HasSubstr("fabric.oversubscription: leaf0 has 1000 Gb/s of HCAs")));
}

TEST(JudgeFabric, ASlowCableExplainsTheRatioOfItsLeaf) {
  FabricEvidence evidence = unplanned(fat_tree());
  IbFabric& fabric = evidence.fabric;
  IbEnd up;  // of leaf0
  for (const IbPort& port : fabric.nodes[0].ports)
    if (port.peer && fabric.at(port.peer).is_switch()) up = {0, port.number};
  ASSERT_TRUE(up);
  for (const IbEnd end : {up, fabric.port(up).peer}) fabric.port(end).active.speed = IbSpeed::kDdr;
  EXPECT_THAT(red(evidence), ElementsAre(HasSubstr("fabric.speed")));
  const auto findings = verify_fabric(evidence).findings;
  EXPECT_EQ(findings[1].rule, "fabric.oversubscription");
  EXPECT_EQ(findings[1].caused_by, 0U);
}

// Leaf0 has too few cables up for its HCAs even if the slow one were whole.
TEST(JudgeFabric, ASlowCableDoesNotExplainALargerRatio) {
  FabricEvidence evidence = unplanned(fat_tree());
  IbFabric& fabric = evidence.fabric;
  fabric.nodes.push_back(told::ib_node(IbNodeType::kHca, 0x8888, 1, "guest mlx5_0"));
  plug(fabric, {0, 10}, {static_cast<int>(fabric.nodes.size()) - 1, 1});
  plug(fabric, {0, 5}, fabric.port(IbEnd{0, 5}).peer, {4, IbSpeed::kDdr});
  EXPECT_THAT(red(evidence), ElementsAre(HasSubstr("fabric.speed"), HasSubstr("fabric.oversubscription")));
}

// A hole shows with two leaves alike, where no most of them exists, and as a cable in the wrong spine.
TEST(JudgeFabric, AHoleInASmallTreeAndAnUnevenLeaf) {
  IbFabric fabric = fat_tree({2, 4, 2});
  unplug(fabric, {1, 6});
  EXPECT_THAT(red(unplanned(fabric)),
              ElementsAre("fabric.incomplete: leaf1 has 1 cable up, the switches beside it have 2: port 6 is "
                          "dark, which goes to spine1 on the others"));
  fabric = fat_tree();
  plug(fabric, {0, 5}, {5, 6});  // to spine1 a second time instead of spine0
  fabric.port(IbEnd{4, 1}).peer = {};
  fabric.port(IbEnd{4, 1}).active = {};
  EXPECT_THAT(
      red(unplanned(fabric)),
      ElementsAre("fabric.incomplete: leaf0 spreads its 4 cables up less evenly than the switches beside "
                  "it: 0 to spine0 instead of 1"));
}

// A leaf of storage has fewer cables up on purpose.
TEST(JudgeFabric, AThinLeafIsNoHole) {
  IbFabric fabric = fat_tree({4, 4, 2});
  for (int leaf = 0; leaf < 3; ++leaf)  // the fourth has one cable to each spine, the others two
    for (int spine = 0; spine < 2; ++spine) plug(fabric, {leaf, 7 + spine}, {4 + spine, 5 + leaf});
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("fabric.oversubscription: leaf3")));
}

TEST(JudgeFabric, SlowerDevicesAndSplittersAreSound) {
  // Storage with EDR adapters beside HDR nodes: of a dump, and live, where both ends say what they support.
  for (const bool live : {false, true}) {
    IbFabric fabric = live ? live_tree() : fat_tree();
    for (const IbEnd& end : {IbEnd{0, 1}, IbEnd{1, 1}}) {
      const IbEnd hca = fabric.port(end).peer;
      fabric.nodes[static_cast<std::size_t>(hca.node)].device = 0x1017;
      plug(fabric, end, hca, {4, IbSpeed::kEdr});
    }
    if (live)
      for (IbNode& node : fabric.nodes)
        for (IbPort& port : node.ports)
          port.supported = {4, node.device == 0x1017 ? IbSpeed::kEdr : IbSpeed::kHdr};
    EXPECT_THAT(red(unplanned(fabric)), IsEmpty()) << live;
  }
  IbFabric fabric = live_tree();
  for (IbNode& node : fabric.nodes)
    for (IbPort& port : node.ports) port.supported = {4, IbSpeed::kHdr};
  for (const int hole : {1, 2}) plug(fabric, {0, hole}, fabric.port(IbEnd{0, hole}).peer, {2, IbSpeed::kHdr});
  EXPECT_THAT(red(unplanned(fabric)), IsEmpty());
  plug(fabric, {0, 2}, fabric.port(IbEnd{0, 2}).peer);
  EXPECT_THAT(
      red(unplanned(fabric)),
      ElementsAre("fabric.width: the cable between port 1 of leaf0 and port 1 of node0 mlx5_0 runs on 2 "
                  "lanes, and no other cable there does"));
}

// Two leaves of which each holds two devices of every host.
IbFabric two_rails_a_leaf(int hosts) {
  IbFabric fabric = fat_tree({2, 2 * hosts, 2});
  for (int hca = 0; hca < 4 * hosts; ++hca)
    fabric.nodes[static_cast<std::size_t>(4 + hca)].description =
        fmt::format("host{} mlx5_{}", hca % hosts, hca / hosts);
  return fabric;
}

TEST(JudgeFabric, SeveralRailsOnALeaf) {
  IbFabric fabric = two_rails_a_leaf(3);
  EXPECT_THAT(red(unplanned(fabric)), IsEmpty());
  EXPECT_THAT(layout_of(fabric).leaf_devices[1], ElementsAre("mlx5_2", "mlx5_3"));
  std::swap(fabric.nodes[4].description, fabric.nodes[4 + 9].description);  // mlx5_0 and mlx5_3 of host0
  EXPECT_THAT(red(unplanned(fabric)),
              ElementsAre(HasSubstr("fabric.rails: host0 has mlx5_0 on leaf1, mlx5_3 on "
                                    "leaf0, the hosts beside it have mlx5_0 on leaf0")));
  fabric = two_rails_a_leaf(2);
  std::swap(fabric.nodes[4].description, fabric.nodes[4 + 6].description);
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("one of the two is cabled across rails")));
}

// "HCA-7" is the number that a device had at a boot: of 32 hosts on the same 8 leaves, three had other numbers than the
// rest, and two of these were alike (a subnet of 2025, whose cables were in order).
TEST(JudgeFabric, NumbersThatFewHostsShareTellNoRail) {
  IbFabric fabric = two_rails_a_leaf(6);
  for (IbNode& node : fabric.nodes)
    for (int device = 0; device < 4; ++device) {
      if (node.description == fmt::format("host0 mlx5_{}", device))
        node.description = fmt::format("host0 HCA-{}", device);
      if (node.description == fmt::format("host1 mlx5_{}", device))
        node.description = fmt::format("host1 HCA-{}", 3 - device);
    }
  EXPECT_THAT(red(unplanned(fabric)), IsEmpty());
}

TEST(JudgeFabric, AManagerThatHangs) {
  IbFabric fabric = live_tree();
  fabric.mute_managers.push_back({12, 1});
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("fabric.mute-manager: port 1 of node4 mlx5_0")));
  fabric.managers.clear();
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("fabric.mute-manager")))
      << "it explains the rest";
}

// A plan is learned of a sound subnet only: a hole would be wanted from then on.
TEST(AgainstLearning, AHoleAndACrossedRailButNoMixture) {
  const auto refused = [](const FabricEvidence& evidence) {
    const Verdict verdict = verify_fabric(evidence);
    const Finding* against = against_learning(verdict);
    return against == nullptr ? std::string_view() : against->rule;
  };
  EXPECT_EQ(refused(unplanned(fat_tree())), "");
  IbFabric fabric = fat_tree();
  unplug(fabric, {1, 5});
  EXPECT_EQ(refused(unplanned(fabric)), "fabric.incomplete");
  fabric = rails_tree(3);
  std::swap(fabric.nodes[5].description, fabric.nodes[8].description);
  EXPECT_EQ(refused(unplanned(fabric)), "fabric.rails");
  fabric = fat_tree();
  fabric.nodes[2].device = 0xcf08;
  EXPECT_EQ(refused(unplanned(fabric)), "") << "a switch of another make may be meant";
}

TEST(JudgeFabric, RailsAndOddSwitches) {
  IbFabric fabric = rails_tree(3);
  std::swap(fabric.nodes[5].description, fabric.nodes[8].description);
  const auto found = red(unplanned(fabric));
  EXPECT_THAT(found,
              ElementsAre("fabric.rails: host0 has mlx5_0 on leaf1, mlx5_1 on leaf0, the hosts beside it "
                          "have mlx5_0 on leaf0, mlx5_1 on leaf1: it is on another's rail"));
  fabric = fat_tree();
  fabric.nodes[2].device = 0xcf08;
  EXPECT_THAT(red(unplanned(fabric)), ElementsAre(HasSubstr("fabric.odd-switch: leaf2 is device 0xcf08")));
}

TEST(JudgeFabric, ATreeStaysOneWithAServerAndAnAggregationNodeOnASpine) {
  IbFabric fabric = fat_tree({16, 4, 2});
  const int guest = static_cast<int>(fabric.nodes.size());
  fabric.nodes.push_back(told::ib_node(IbNodeType::kHca, 0x8888, 1, "manager mlx5_0"));
  fabric.nodes.push_back(
      told::ib_node(IbNodeType::kHca, 0x8889, 1, "Mellanox Technologies Aggregation Node"));
  plug(fabric, {16, 17}, {guest, 1});
  plug(fabric, {17, 17}, {guest + 1, 1});
  EXPECT_EQ(layout_of(fabric).shape, IbShape::kFatTree);
  EXPECT_THAT(red(unplanned(fabric)), IsEmpty());
}

TEST(JudgeFabric, SwitchesOfOneNameAreToldApart) {
  IbFabric fabric = fat_tree();
  for (std::size_t n = 0; n < 8; ++n) fabric.nodes[n].description = "Quantum Mellanox Technologies";
  tell_apart(fabric);
  EXPECT_EQ(place_of(fabric, {2, 1}), "port 1 of Quantum Mellanox Technologies (0x0000000000001002)");
  EXPECT_EQ(name_of(fabric.nodes[8]), "node0 mlx5_0");
}

TEST(JudgeFabric, Counters) {
  EXPECT_THAT(red(counted(3, 3)), IsEmpty());
  EXPECT_THAT(red(counted(3, 4)), IsEmpty());  // one is not yet a rate
  EXPECT_THAT(red(counted(3, 58)),
              ElementsAre(HasSubstr("fabric.errors: port 1 of leaf0, cabled to port 1 of node0 mlx5_0, "
                                    "counts errors now: SymbolErrorCounter +55 in 10 s")));
  EXPECT_THAT(red(counted(55, 55)),
              ElementsAre(HasSubstr("fabric.counters: port 1 of leaf0 has counted errors at some "
                                    "time: SymbolErrorCounter 55")));
  EXPECT_THAT(red(counted(0, 1, IbCounter::kLinkDowned)), ElementsAre(HasSubstr("LinkDownedCounter +1")));
  EXPECT_THAT(red(counted(0, 50'000'000, IbCounter::kXmitWait)), ElementsAre(HasSubstr("fabric.congestion")));
  EXPECT_THAT(red(counted(0, 15, IbCounter::kVl15Dropped)), IsEmpty());
  // A counter that was reset between the readings.
  EXPECT_THAT(red(counted(60000, 40)), ElementsAre(HasSubstr("SymbolErrorCounter +40")));
}

TEST(JudgeFabric, PortsWithoutCountersAreNotFine) {
  FabricEvidence evidence = counted(0, 0);
  evidence.counters->unanswered = 7;
  EXPECT_THAT(red(evidence),
              ElementsAre("fabric.counters: could not look: 7 ports did not return their counters"));
}

TEST(JudgeFabric, ErrorsNowExplainTheTotalOfTheSamePortOnly) {
  FabricEvidence evidence = counted(300, 700);
  evidence.counters->ports.push_back({{0, 2}, {}, IbCounts{}});
  for (IbCounts* counts : {&evidence.counters->ports[1].first, &*evidence.counters->ports[1].second})
    counts->value[static_cast<std::size_t>(IbCounter::kSymbolErrors)] = 55;
  const Verdict verdict = verify_fabric(evidence);
  const auto place = [&](std::size_t i) {
    return fmt::format("{} {}", verdict.findings[i].rule, verdict.findings[i].subject);
  };
  EXPECT_EQ(place(0), "fabric.errors port 1 of leaf0");
  EXPECT_EQ(place(1), "fabric.counters port 1 of leaf0");
  EXPECT_EQ(verdict.findings[1].caused_by, 0U);
  EXPECT_EQ(place(2), "fabric.counters port 2 of leaf0");
  EXPECT_EQ(verdict.findings[2].caused_by, std::nullopt);
}

TEST(JudgeFabric, CongestionDoesNotHideOldErrors) {
  FabricEvidence evidence = counted(55, 55);
  evidence.counters->ports[0].second->value[static_cast<std::size_t>(IbCounter::kXmitWait)] = 50'000'000;
  EXPECT_THAT(red(evidence), ElementsAre(HasSubstr("fabric.counters"), HasSubstr("fabric.congestion")));
}

// The hosts behind a dead switch are in the plan, so that the switch explains them; others are missing.
TEST(JudgeFabric, ADeadLeafExplainsTheHostsOfClusterYaml) {
  FabricEvidence evidence = planned(without_last_leaf());
  evidence.hosts = {"node15", "gpu01"};
  EXPECT_THAT(red(evidence), ElementsAre(HasSubstr("the switch leaf3 is not in the subnet"),
                                         HasSubstr("gpu01 of cluster.yaml")));
}

// Cables that were not compared do not pass.
TEST(JudgeFabric, AnotherSubnetsPlanPassesNoCable) {
  for (const Finding& finding : verify_fabric(planned_elsewhere()).findings)
    if (finding.rule == "fabric.missing-link" || finding.rule == "fabric.cabling") {
      EXPECT_EQ(finding.status, Status::kNotApplicable) << finding.rule;
    }
}

TEST(VerifyFabric, CausesStandBeforeWhatTheyExplain) {
  IbFabric fabric = live_tree();
  fabric.managers.clear();
  for (IbNode& node : fabric.nodes)
    for (IbPort& port : node.ports)
      if (port.peer) port.state = IbState::kInit;
  const Verdict verdict = verify_fabric(unplanned(fabric));
  EXPECT_EQ(verdict.findings[0].rule, "fabric.no-manager");
  EXPECT_EQ(verdict.findings[1].rule, "fabric.port-state");
  EXPECT_EQ(verdict.findings[1].caused_by, 0U);
  EXPECT_EQ(verdict.exit_code(), 2);
}

}  // namespace
}  // namespace railbed
