#include "campaign/measure/neighbours.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace railbed {
namespace {

Rail rail_of(int nodes) {
  Rail rail;
  for (int i = 0; i < nodes; ++i) rail.ports.push_back({"n" + std::to_string(i), "eth1", {}});
  return rail;
}

TEST(NeighbourRounds, TwoNodesMeetOnce) {
  const Rail rail = rail_of(2);
  const auto rounds = neighbour_rounds(rail);
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0], (std::vector<Pair>{{&rail, "n0", "n1"}}));
}

TEST(NeighbourRounds, FewerThanTwoNodesHaveNobodyToMeet) {
  EXPECT_TRUE(neighbour_rounds(rail_of(0)).empty());
  EXPECT_TRUE(neighbour_rounds(rail_of(1)).empty());
}

TEST(NeighbourRounds, EveryNodeMeetsBothNeighboursAndNobodyIsBusyTwice) {
  for (const int nodes : {3, 4, 5, 8, 33}) {
    const Rail rail = rail_of(nodes);
    std::map<std::string, std::set<std::string>> met;
    for (const auto& round : neighbour_rounds(rail)) {
      std::set<std::string> busy;
      for (const Pair& pair : round) {
        EXPECT_TRUE(busy.insert(pair.from).second && busy.insert(pair.to).second) << nodes;
        met[pair.from].insert(pair.to);
        met[pair.to].insert(pair.from);
      }
    }
    for (int i = 0; i < nodes; ++i)
      EXPECT_EQ(met["n" + std::to_string(i)].size(), 2u) << nodes << " nodes, node " << i;
  }
}

TEST(RoundsOfAllRails, MeetOverWhatTheyAreNeighboursOn) {
  Cluster cluster;
  for (const char* name : {"rail0", "rail1"}) {
    cluster.rails.push_back(rail_of(4));
    cluster.rails.back().name = name;
  }
  cluster.rails[1].ports.pop_back();  // n3 has no second rail; so n2 and n0 are neighbours there
  const auto rounds = rounds_of_all_rails(cluster);
  const std::vector<const Rail*> both{&cluster.rails[0], &cluster.rails[1]};
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0], (std::vector<PairOfRails>{{both, "n0", "n1"}}));
  EXPECT_EQ(rounds[1], (std::vector<PairOfRails>{{both, "n1", "n2"}}));
}

TEST(RoundsOfAllRails, OneRailIsMeasuredAloneOnly) {
  Cluster cluster;
  cluster.rails.push_back(rail_of(4));
  EXPECT_TRUE(rounds_of_all_rails(cluster).empty());
}

}  // namespace
}  // namespace railbed
