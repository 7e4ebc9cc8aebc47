#include "campaign/neighbours.h"

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

}  // namespace
}  // namespace railbed
