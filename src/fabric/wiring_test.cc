#include "fabric/wiring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/testing/tree.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Wiring, GroupsHostsWhoseRailsAreOnTheSameLeaves) {
  const ScheduleTree tree = schedule_tree(wiring_of(told::rails_tree(4)));
  ASSERT_EQ(tree.switches.size(), 1u);
  EXPECT_EQ(tree.switches[0].name, "leaf0-to-leaf3");
  EXPECT_THAT(tree.switches[0].nodes, ElementsAre("host0", "host1", "host2"));
}

TEST(Wiring, HasALeafForEachOfAFatTree) {
  const ScheduleTree tree = schedule_tree(wiring_of(told::fat_tree()));
  ASSERT_EQ(tree.switches.size(), 5u);
  EXPECT_THAT(tree.switches[1].nodes, ElementsAre("node4", "node5", "node6", "node7"));
  EXPECT_EQ(tree.switches[4].name, "spine0-to-spine3");
  EXPECT_TRUE(tree.notes.empty());
}

TEST(Wiring, TakesTheHostsOfAClusterAndNotesTheOthers) {
  IbFabric fabric = told::fat_tree({2, 2, 1});
  fabric.nodes[3].description = "gpu01.lab.example mlx5_0";
  fabric.nodes[4].description = "nas HCA-1";
  fabric.nodes[5].description = "MT4129 ConnectX7 Mellanox Technologies";
  fabric.nodes[6].description = "gpu02 mlx5_0";
  const Wiring wiring = wiring_of(fabric, {"gpu01", "gpu02", "gpu03"});
  EXPECT_THAT(wiring.nodes, ElementsAre(testing::Key("gpu01"), testing::Key("gpu02")));
  EXPECT_THAT(wiring.notes,
              ElementsAre(HasSubstr("1 HCA that no host's name describes"), HasSubstr("so left out: nas"),
                          HasSubstr("not in the subnet, so left out: gpu03")));
}

TEST(Wiring, NotesAHostWithoutACable) {
  IbFabric fabric = told::fat_tree({2, 2, 1});
  told::unplug(fabric, {3, 1});
  EXPECT_THAT(schedule_tree(wiring_of(fabric)).notes, ElementsAre("on no switch, so left out: node0"));
}

}  // namespace
}  // namespace railbed
