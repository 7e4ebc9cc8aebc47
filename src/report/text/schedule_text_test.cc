#include "report/text/schedule_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "predict/rail_plan.h"

namespace railbed {
namespace {

using testing::HasSubstr;

ScheduleTree small() {
  ScheduleTree tree;
  tree.switches = {{"leaf1-to-leaf2", 1, {"leaf1", "leaf2"}, {}, {"gpu01", "gpu02", "gpu04"}},
                   {"leaf3", 1, {"leaf 3"}, {}, {"nas"}},
                   {"spine", 2, {"spine"}, {"leaf1-to-leaf2", "leaf3"}, {}}};
  tree.notes = {"on no switch, so left out: \033[31mred"};
  return tree;
}

TEST(ScheduleText, IsAConfOfSlurm) {
  const std::string text = slurm_topology_conf(small());
  EXPECT_THAT(text,
              HasSubstr("# leaf1-to-leaf2: leaf[1-2]\nSwitchName=leaf1-to-leaf2 Nodes=gpu[01-02,04]\n"));
  EXPECT_THAT(text, HasSubstr("# leaf3: leaf 3\nSwitchName=leaf3 Nodes=nas\n"
                              "SwitchName=spine Switches=leaf1-to-leaf2,leaf3\n"));
  EXPECT_EQ(text.find('\033'), std::string::npos);
}

TEST(ScheduleText, IsAYamlOfSlurm) {
  const std::string text = slurm_topology_yaml(small());
  EXPECT_THAT(text, HasSubstr("- topology: railbed\n  cluster_default: true\n  tree:\n    switches:\n"
                              "      - switch: \"spine\"\n        children: \"leaf1-to-leaf2,leaf3\"\n"));
  EXPECT_THAT(text, HasSubstr("      - switch: \"leaf1-to-leaf2\"\n        nodes: \"gpu[01-02,04]\"\n"));
}

TEST(ScheduleText, LabelsNodesOfKubernetes) {
  EXPECT_THAT(
      kubernetes_labels(small()),
      HasSubstr(
          "\nkubectl label --overwrite nodes gpu01 gpu02 gpu04 network.topology.nvidia.com/leaf=leaf1-to-leaf2 "
          "network.topology.nvidia.com/spine=spine\n"));
}

TEST(ScheduleText, IsJson) {
  const auto document = json::parse(schedule_json(small()));
  ASSERT_TRUE(document);
}

// Rails with leaves and spines of their own: nodes of one leaf number are together, and the rails' spines one switch.
TEST(ScheduleText, FollowsAPlan) {
  RailPlanRequest request;
  request.nodes = 64;
  request.rails = 2;
  request.speed = BitRate::gigabits(400);
  request.fabric = Fabric::kInfiniband;
  request.network = *IpAddress::parse("10.0.0.0");
  auto plan = plan_rails(request);
  ASSERT_TRUE(plan) << plan.error().text;
  const ScheduleTree tree = schedule_tree(wiring_of(*plan));
  std::size_t nodes = 0;
  for (const ScheduleSwitch& one : tree.switches) nodes += one.nodes.size();
  EXPECT_EQ(nodes, 64u);
  EXPECT_EQ(tree.switches.back().children.size() + 1, tree.switches.size());
  EXPECT_TRUE(tree.notes.empty());
}

}  // namespace
}  // namespace railbed
