// The proof behind the table of a subnet's rules: every rule has a subnet in which it, and no other, is red, and
// one that looks much like it and is sound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "fabric/judge.h"
#include "fabric/testing/evidence.h"
#include "verify/engine.h"

namespace railbed {
namespace {

using told::fat_tree;
using told::live_tree;
using told::planned;
using told::plug;
using told::rails_tree;
using told::unplanned;
using told::unplug;
using told::without_last_leaf;

struct Fixture {
  FabricEvidence red;
  FabricEvidence sound;
};

template <class Change>
IbFabric changed(IbFabric fabric, Change change) {
  change(fabric);
  return fabric;
}

// The same subnet with its nodes in the opposite order, as another run of ibnetdiscover may list them.
IbFabric reversed(IbFabric fabric) {
  const int last = static_cast<int>(fabric.nodes.size()) - 1;
  std::ranges::reverse(fabric.nodes);
  for (IbNode& node : fabric.nodes)
    for (IbPort& port : node.ports)
      if (port.peer) port.peer.node = last - port.peer.node;
  return fabric;
}

void plug_guest(IbFabric& fabric) {
  fabric.nodes.push_back(told::ib_node(IbNodeType::kHca, 0x8888, 1, "guest mlx5_0"));
  plug(fabric, {0, 10}, {static_cast<int>(fabric.nodes.size()) - 1, 1});
}

using Counts = std::map<IbCounter, std::uint64_t>;

// One port's counters, read twice within 10 seconds.
FabricEvidence read_twice(const Counts& first, const Counts& second) {
  const auto counts = [](const Counts& values) {
    IbCounts counts;
    for (const auto& [counter, value] : values) counts.value[static_cast<std::size_t>(counter)] = value;
    return counts;
  };
  FabricEvidence evidence = unplanned(live_tree());
  evidence.counters = IbCounterLook{{{{0, 1}, counts(first), counts(second)}}, 0, 10};
  return evidence;
}

// The fixtures, by the names that the rules have for them.
std::map<std::string_view, Fixture> fixtures() {
  std::map<std::string_view, Fixture> all;
  // A host whose HCA gives its full name is there.
  all["dead-leaf"] = {planned(without_last_leaf()), unplanned(changed(fat_tree(), [](IbFabric& fabric) {
                        fabric.nodes[11].description = "node3.example.com mlx5_0";
                      }))};
  all["dead-leaf"].sound.hosts = {"node3"};
  // A hole that is dark in the plan, too.
  const IbFabric cable_out = changed(fat_tree(), [](IbFabric& fabric) { unplug(fabric, {1, 5}); });
  all["cable-out"] = {planned(cable_out), planned(cable_out, cable_out)};
  // The plan lists the nodes in another order.
  all["swapped-cables"] = {planned(changed(fat_tree(),
                                           [](IbFabric& fabric) {
                                             plug(fabric, {3, 1}, {8 + 13, 1});
                                             plug(fabric, {3, 2}, {8 + 12, 1});
                                           })),
                           planned(fat_tree(), reversed(fat_tree()))};
  // The plan has the guest.
  const IbFabric with_guest = changed(fat_tree(), plug_guest);
  all["guest"] = {planned(with_guest), planned(with_guest, with_guest)};
  // A host with a new name.
  all["replaced-hca"] = {
      planned(changed(fat_tree(), [](IbFabric& fabric) { fabric.nodes[10].guid = 0x7777; })),
      planned(changed(fat_tree(), [](IbFabric& fabric) { fabric.nodes[10].description = "new mlx5_0"; }))};
  // A splitter, which the plan has: two lanes for each HCA.
  const auto with_link = [](IbLink link) {
    return changed(fat_tree(), [&](IbFabric& fabric) { plug(fabric, {0, 1}, {8, 1}, link); });
  };
  all["one-lane"] = {planned(with_link({1, IbSpeed::kHdr})),
                     planned(with_link({2, IbSpeed::kHdr}), with_link({2, IbSpeed::kHdr}))};
  // A slow cable that is planned.
  all["slow-cable"] = {unplanned(with_link({4, IbSpeed::kEdr})),
                       planned(with_link({4, IbSpeed::kEdr}), with_link({4, IbSpeed::kEdr}))};
  // A dump that has the link of one end only.
  const auto with_end = [](IbLink link) {
    return changed(fat_tree(), [&](IbFabric& fabric) { fabric.port(IbEnd{8, 1}).active = link; });
  };
  all["unequal-ends"] = {planned(with_end({1, IbSpeed::kHdr})), planned(with_end({}))};
  // A port that trains without a peer.
  const auto with_init = [](IbEnd end) {
    return changed(live_tree(), [&](IbFabric& fabric) { fabric.port(end).state = IbState::kInit; });
  };
  all["port-in-init"] = {unplanned(with_init({0, 1})), unplanned(with_init({0, 9}))};
  // A dark port.
  all["silent-node"] = {unplanned(changed(live_tree(),
                                          [](IbFabric& fabric) {
                                            fabric.silent.push_back({{0, 9}, "no answer to NodeInfo"});
                                          })),
                        unplanned(live_tree())};
  // An HCA whose port has the GUID of the node.
  const auto with_guid_of = [](std::size_t node) {
    return changed(fat_tree(),
                   [&](IbFabric& fabric) { fabric.nodes[9].ports[1].guid = fabric.nodes[node].guid; });
  };
  all["shared-guid"] = {unplanned(with_guid_of(8)), unplanned(with_guid_of(9))};
  // Ports without an address.
  const auto with_lids = [](unsigned lid) {
    return changed(fat_tree(), [&](IbFabric& fabric) {
      fabric.port(IbEnd{8, 1}).lid = fabric.port(IbEnd{9, 1}).lid = lid;
    });
  };
  all["shared-lid"] = {unplanned(with_lids(99)), unplanned(with_lids(0))};
  // A second manager that stands by.
  const auto with_second = [](IbManagerState state) {
    return changed(live_tree(), [&](IbFabric& fabric) {
      fabric.managers.push_back(fabric.managers.front());
      fabric.managers.back().end.node = 12;
      fabric.managers.back().state = state;
    });
  };
  all["two-masters"] = {unplanned(with_second(IbManagerState::kMaster)),
                        unplanned(with_second(IbManagerState::kStandby))};
  // A manager that answers is no fault.
  all["mute-manager"] = {unplanned(changed(live_tree(),
                                           [](IbFabric& fabric) {
                                             fabric.mute_managers.push_back({12, 1});
                                           })),
                         all["two-masters"].sound};
  all["no-master"] = {
      unplanned(changed(live_tree(),
                        [](IbFabric& fabric) { fabric.managers[0].state = IbManagerState::kStandby; })),
      all["two-masters"].sound};
  // One error is not yet a rate.
  using enum IbCounter;
  all["errors-now"] = {read_twice({}, {{kSymbolErrors, 10}}), read_twice({}, {{kSymbolErrors, 1}})};
  // As many as the threshold.
  all["old-errors"] = {read_twice({{kSymbolErrors, 11}}, {{kSymbolErrors, 11}}),
                       read_twice({{kSymbolErrors, 10}}, {{kSymbolErrors, 10}})};
  // A port that sends for more than half of the time.
  all["waiting-port"] = {read_twice({}, {{kXmitWait, 50'000'000}, {kXmitData, 40'000'000}}),
                         read_twice({}, {{kXmitWait, 50'000'000}, {kXmitData, 60'000'000}})};
  // A tree without one cable of each leaf, which is as regular.
  all["leaf-lacks-cable"] = {unplanned(cable_out), unplanned(changed(fat_tree(), [](IbFabric& fabric) {
                               for (int leaf = 0; leaf < 4; ++leaf) unplug(fabric, {leaf, 5 + leaf});
                             }))};
  // A ratio of 1:1 is allowed, and there.
  all["crowded-leaf"] = {unplanned(with_guest), unplanned(fat_tree())};
  all["crowded-leaf"].sound.oversubscription = 1;
  // An HCA that does not name its device.
  all["crossed-rails"] = {
      unplanned(changed(
          rails_tree(3),
          [](IbFabric& fabric) { std::swap(fabric.nodes[5].description, fabric.nodes[8].description); })),
      unplanned(changed(rails_tree(3), [](IbFabric& fabric) { fabric.nodes[5].description = "host0"; }))};
  // Spines of another make than leaves.
  all["odd-leaf"] = {
      unplanned(changed(fat_tree(), [](IbFabric& fabric) { fabric.nodes[2].device = 0xcf08; })),
      unplanned(changed(fat_tree(), [](IbFabric& fabric) {
        for (std::size_t spine = 4; spine < 8; ++spine) fabric.nodes[spine].device = 0xcf08;
      }))};
  return all;
}

// Returns the rules that are red or could not look.
std::set<std::string_view> unsound(const FabricEvidence& evidence) {
  std::set<std::string_view> rules;
  for (const Finding& finding : verify_fabric(evidence).findings)
    if (severity(finding.status) < severity(Status::kPass)) rules.insert(finding.rule);
  return rules;
}

// Returns the verdicts of a rule.
std::vector<Status> statuses(const FabricEvidence& evidence, std::string_view rule) {
  std::vector<Status> found;
  for (const Finding& finding : verify_fabric(evidence).findings)
    if (finding.rule == rule) found.push_back(finding.status);
  return found;
}

TEST(SubnetRules, HaveEveryWord) {
  std::set<std::string_view> ids, names;
  for (const Rule& rule : subnet_rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id << " stands twice";
    EXPECT_TRUE(names.insert(rule.fixture).second) << rule.fixture << " serves two rules";
    EXPECT_TRUE(rule.id.starts_with("fabric.")) << rule.id;
    EXPECT_EQ(find_rule(rule.id), nullptr) << rule.id << " is a rule of nodes, too";
    for (const std::string_view text : {rule.title, rule.why, rule.source, rule.standard, rule.remedy})
      EXPECT_FALSE(text.empty()) << rule.id;
    for (const std::string_view cause : rule.explained_by)
      ASSERT_NE(find_rule(cause, subnet_rules()), nullptr) << cause;
    ASSERT_TRUE(std::holds_alternative<Check<FabricView>>(rule.check)) << rule.id;
    EXPECT_NE(std::get<Check<FabricView>>(rule.check), nullptr) << rule.id;
  }
}

TEST(SubnetRules, ExplainNotThemselves) {
  for (const Rule& rule : subnet_rules()) {
    std::vector<std::string_view> causes = rule.explained_by;
    for (std::size_t i = 0; i < causes.size(); ++i)
      for (const std::string_view further : find_rule(causes[i], subnet_rules())->explained_by)
        if (std::ranges::find(causes, further) == causes.end()) causes.push_back(further);
    EXPECT_THAT(causes, testing::Not(testing::Contains(rule.id)));
  }
}

TEST(SubnetRules, EachIsRedAloneInItsFixtureAndPassesItsSoundTwin) {
  const auto all = fixtures();
  for (const Rule& rule : subnet_rules()) {
    const auto found = all.find(rule.fixture);
    ASSERT_NE(found, all.end()) << rule.id << " names no fixture: " << rule.fixture;
    const auto& [red, sound] = found->second;
    EXPECT_THAT(unsound(red), testing::ElementsAre(rule.id)) << rule.fixture;
    EXPECT_THAT(unsound(sound), testing::IsEmpty()) << rule.fixture;
    EXPECT_THAT(statuses(sound, rule.id), testing::ElementsAre(Status::kPass)) << rule.fixture;
  }
  EXPECT_EQ(all.size(), subnet_rules().size()) << "a fixture serves no rule";
}

TEST(SubnetRules, FindTheSameInOneThreadAndInMany) {
  const FabricEvidence evidence = fixtures().at("crowded-leaf").red;
  const FabricView view(evidence);
  const auto judge = [&](std::size_t nodes) {
    std::vector<std::string> found;
    const Verdict verdict =
        verdict_of(run_rules(subnet_rules(), view, {.nodes = nodes}, Keep::kAll), subnet_rules());
    for (const Finding& finding : verdict.findings)
      found.push_back(fmt::format("{} {} {}", finding.rule, finding.subject, finding.message));
    return found;
  };
  const std::vector<std::string> found = judge(1);
  EXPECT_GE(found.size(), subnet_rules().size());
  EXPECT_EQ(found, judge(kNodesWorthThreads));
}

TEST(SubnetRules, NameWhereTheyLooked) {
  FabricEvidence evidence = unplanned(fat_tree());
  evidence.from = "dump.topo";
  for (const Finding& finding : verify_fabric(evidence).findings)
    EXPECT_EQ(finding.evidence, "dump.topo") << finding.rule;
}

}  // namespace
}  // namespace railbed
