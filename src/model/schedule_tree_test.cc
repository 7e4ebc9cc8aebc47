#include "model/schedule_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Names = std::vector<std::string>;

struct Plan {
  Wiring wiring;
  std::size_t add(const std::string& name, int level) {
    wiring.switches.push_back({name, level, {}});
    return wiring.switches.size() - 1;
  }
  void join(std::size_t one, std::size_t other) {
    wiring.switches[one].next.push_back(other);
    wiring.switches[other].next.push_back(one);
  }
};

const ScheduleSwitch& named(const ScheduleTree& tree, std::string_view name) {
  const auto found = std::ranges::find(tree.switches, name, &ScheduleSwitch::name);
  EXPECT_NE(found, tree.switches.end()) << name;
  static const ScheduleSwitch kNone;
  return found == tree.switches.end() ? kNone : *found;
}

Names names(const ScheduleTree& tree) {
  Names all;
  for (const ScheduleSwitch& one : tree.switches) all.push_back(one.name);
  return all;
}

TEST(ScheduleTree, MergesSpinesThatJoinTheSameLeaves) {
  Plan plan;
  const auto leaf2 = plan.add("leaf2", 1), leaf10 = plan.add("leaf10", 1);
  for (const char* name : {"spine1", "spine2"}) {
    const auto spine = plan.add(name, 2);
    plan.join(leaf2, spine);
    plan.join(leaf10, spine);
  }
  plan.wiring.nodes = {{"n10", {leaf10}}, {"n9", {leaf10}}, {"n1", {leaf2}}};
  const ScheduleTree tree = schedule_tree(plan.wiring);
  EXPECT_THAT(names(tree), ElementsAre("leaf2", "leaf10", "spine1-to-spine2"));
  EXPECT_THAT(tree.switches[1].nodes, ElementsAre("n9", "n10"));
  EXPECT_THAT(tree.switches[2].children, ElementsAre("leaf2", "leaf10"));
  EXPECT_THAT(tree.switches[2].switches, ElementsAre("spine1", "spine2"));
  EXPECT_THAT(tree.notes, IsEmpty());
  EXPECT_THAT(switches_above(tree).at("n9"), ElementsAre("leaf10", "spine1-to-spine2"));
}

// Two groups of four leaves, one for each rail, as a rail-optimised pod has them.
Plan rails() {
  Plan plan;
  std::vector<std::size_t> leaves;
  for (int i = 1; i <= 8; ++i) leaves.push_back(plan.add(fmt::format("leaf{}", i), 1));
  const auto spine = plan.add("spine", 2);
  for (const std::size_t leaf : leaves) plan.join(leaf, spine);
  for (int node = 0; node < 6; ++node)
    for (int rail = 0; rail < 4; ++rail)
      plan.wiring.nodes[fmt::format("gpu{}", node)].push_back(
          leaves[static_cast<std::size_t>(node / 3 * 4 + rail)]);
  return plan;
}

TEST(ScheduleTree, PutsNodesOnTheSameLeavesTogether) {
  const ScheduleTree tree = schedule_tree(rails().wiring);
  EXPECT_THAT(names(tree), ElementsAre("leaf1-to-leaf4", "leaf5-to-leaf8", "spine"));
  EXPECT_THAT(tree.switches[0].nodes, ElementsAre("gpu0", "gpu1", "gpu2"));
  EXPECT_THAT(tree.switches[0].switches, ElementsAre("leaf1", "leaf2", "leaf3", "leaf4"));
}

TEST(ScheduleTree, KeepsANodeWithABrokenRailInItsGroup) {
  Plan plan = rails();
  plan.wiring.nodes["gpu1"].pop_back();
  const ScheduleTree tree = schedule_tree(plan.wiring);
  EXPECT_THAT(tree.switches[0].nodes, ElementsAre("gpu0", "gpu1", "gpu2"));
  EXPECT_THAT(tree.notes, ElementsAre("on 3 of the 4 leaves of their group: gpu1"));
}

TEST(ScheduleTree, PutsAMiscabledNodeBesideTheGroups) {
  Plan plan = rails();
  plan.wiring.nodes["gpu1"] = {0, 1, 2, 7};
  const ScheduleTree tree = schedule_tree(plan.wiring);
  EXPECT_THAT(named(tree, "leaf1-to-leaf8").nodes, ElementsAre("gpu1"));
  EXPECT_THAT(named(tree, "leaf1-to-leaf4").nodes, ElementsAre("gpu0", "gpu2"));
  EXPECT_EQ(named(tree, "spine").children.size(), 3u);
}

TEST(ScheduleTree, HasALevelForPodsAndOneAboveThem) {
  Plan plan;
  const auto core = plan.add("core1", 3);
  for (int pod = 0; pod < 2; ++pod) {
    const auto spine = plan.add(fmt::format("pod{}-spine", pod), 2);
    plan.join(spine, core);
    for (int leaf = 0; leaf < 2; ++leaf) {
      const auto one = plan.add(fmt::format("pod{}-leaf{}", pod, leaf), 1);
      plan.join(one, spine);
      plan.wiring.nodes[fmt::format("n{}{}", pod, leaf)] = {one};
    }
  }
  const ScheduleTree tree = schedule_tree(plan.wiring);
  EXPECT_THAT(names(tree), ElementsAre("pod0-leaf0", "pod0-leaf1", "pod1-leaf0", "pod1-leaf1", "pod0-spine",
                                       "pod1-spine", "core1"));
  EXPECT_THAT(switches_above(tree).at("n11"), ElementsAre("pod1-leaf1", "pod1-spine", "core1"));
}

TEST(ScheduleTree, JoinsARingByOneSwitch) {
  Plan plan;
  for (int i = 0; i < 4; ++i) {
    plan.add(fmt::format("s{}", i), 1);
    plan.wiring.nodes[fmt::format("n{}", i)] = {static_cast<std::size_t>(i)};
  }
  for (std::size_t i = 0; i < 4; ++i) plan.join(i, (i + 1) % 4);
  const ScheduleTree tree = schedule_tree(plan.wiring);
  EXPECT_THAT(names(tree), ElementsAre("s0", "s1", "s2", "s3", "fabric"));
  EXPECT_EQ(tree.switches.back().children.size(), 4u);
}

TEST(ScheduleTree, NotesPartsAndOrphans) {
  Plan plan;
  plan.wiring.nodes = {{"a", {plan.add("left", 1)}}, {"b", {plan.add("right", 1)}}, {"c", {}}, {"d e", {0}}};
  const ScheduleTree tree = schedule_tree(plan.wiring);
  EXPECT_THAT(names(tree), ElementsAre("left", "right"));
  ASSERT_EQ(tree.notes.size(), 3u);
  EXPECT_EQ(tree.notes[0], "on no switch, so left out: c");
  EXPECT_THAT(tree.notes[1], HasSubstr("d e"));
  EXPECT_THAT(tree.notes[2], HasSubstr("2 parts that no cable joins"));
}

// A switch calls itself as it likes; each name is a word of Slurm's, unique, and a value of a label.
TEST(ScheduleTree, NamesSwitchesSoThatNoFormatBreaks) {
  Plan plan;
  const std::string odd[] = {"MF0;leaf[1-4]:MQM8700/U1", "MF0 leaf 1-4 MQM8700 U1", "\n#=,",
                             std::string(300, 'x')};
  for (int i = 0; i < 4; ++i) plan.wiring.nodes[fmt::format("n{}", i)] = {plan.add(odd[i], 1)};
  const auto spine = plan.add("spine", 2);
  for (std::size_t i = 0; i < 4; ++i) plan.join(i, spine);
  const ScheduleTree tree = schedule_tree(plan.wiring);
  Names sorted = names(tree);
  std::ranges::sort(sorted);
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const std::string& name : sorted) {
    EXPECT_LE(name.size(), 63u);
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"),
              std::string::npos)
        << name;
  }
  EXPECT_THAT(sorted, testing::Contains("MF0-leaf-1-4-MQM8700-U1"));
}

}  // namespace
}  // namespace railbed
