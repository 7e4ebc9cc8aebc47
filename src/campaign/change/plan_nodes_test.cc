#include "campaign/change/plan_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Cluster three_nodes() {
  Cluster cluster;
  for (const char* name : {"g1", "g2", "nas"}) cluster.nodes.emplace_back().name = name;
  return cluster;
}

TEST(ChosenNodes, AreThoseOfEachList) {
  EXPECT_THAT(*chosen_nodes({"g[1-2]"}, three_nodes()), ElementsAre("g1", "g2"));
  EXPECT_THAT(*chosen_nodes({"nas,g2", "g2"}, three_nodes()), ElementsAre("g2", "nas"));
  EXPECT_THAT(*chosen_nodes({}, three_nodes()), ElementsAre("g1", "g2", "nas"));
}

TEST(ChosenNodes, NamesWhatTheClusterLacks) {
  EXPECT_THAT(chosen_nodes({"g[1-3]"}, three_nodes()).error().text, HasSubstr("g3"));
  EXPECT_THAT(chosen_nodes({"g1,"}, three_nodes()).error().text, HasSubstr("g1,, character 4"));
}

}  // namespace
}  // namespace railbed
