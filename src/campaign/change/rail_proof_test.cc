#include "campaign/change/rail_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Cluster two_rails(Fabric fabric = Fabric::kRoce) {
  Cluster cluster;
  for (const char* name : {"rail0", "rail1"}) {
    Rail rail;
    rail.name = name;
    rail.fabric = fabric;
    for (const char* node : {"a", "b"}) rail.ports.push_back({node, std::string("ens") + name[4], {}});
    cluster.rails.push_back(std::move(rail));
  }
  return cluster;
}

SeenFault fault(const std::string& rail, PathLayer layer) {
  return {{rail, "a", "b", "it is broken", ""}, layer};
}

ConcernedRails concerned_by(NodeChange change, Fabric fabric = Fabric::kRoce) {
  ClusterPlan plan;
  plan.nodes.push_back({.node = "a", .changes = {std::move(change)}});
  return {two_rails(fabric), plan};
}

std::vector<std::string> rails_of(const std::vector<RailFault>& faults) {
  std::vector<std::string> rails;
  for (const RailFault& one : faults) rails.push_back(one.rail);
  return rails;
}

TEST(JudgeRails, ARailThatCarriedNothingBeforeSpeaksAgainstNoChange) {
  const RailsSeen before{2, {fault("rail1", PathLayer::kLink)}};
  const auto judged = judge_rails(before, before, {});
  EXPECT_THAT(judged.broken, IsEmpty());
  EXPECT_THAT(rails_of(judged.old), ElementsAre("rail1"));
}

TEST(JudgeRails, ARailThatCarriedDoes) {
  const RailsSeen before{2, {fault("rail1", PathLayer::kLink)}};
  const RailsSeen after{2, {fault("rail0", PathLayer::kMtu), fault("rail1", PathLayer::kLink)}};
  const auto judged = judge_rails(before, after, {});
  EXPECT_THAT(rails_of(judged.broken), ElementsAre("rail0"));
  EXPECT_THAT(rails_of(judged.old), ElementsAre("rail1"));
}

TEST(JudgeRails, OneThatIsBrokenFurtherDownDoes) {
  const auto judge = [](PathLayer before, PathLayer after) {
    return judge_rails({1, {fault("rail0", before)}}, {1, {fault("rail0", after)}}, {}).broken;
  };
  EXPECT_THAT(rails_of(judge(PathLayer::kGid, PathLayer::kRoute)), ElementsAre("rail0"));
  EXPECT_THAT(judge(PathLayer::kRoute, PathLayer::kGid), IsEmpty());
  EXPECT_THAT(rails_of(judge(PathLayer::kNone, PathLayer::kLink)), ElementsAre("rail0"))
      << "no node replied before: it may have carried";
}

TEST(JudgeRails, OneThatTheChangeIsToMakeWorkDoes) {
  const RailsSeen seen{1, {fault("rail1", PathLayer::kLink)}};
  const auto broken = [&](NodeChange change, Fabric fabric = Fabric::kRoce) {
    return judge_rails(seen, seen, concerned_by(std::move(change), fabric)).broken;
  };
  EXPECT_THAT(rails_of(broken({.section = Section::kNetwork, .subjects = {"ens1"}})), ElementsAre("rail1"));
  EXPECT_THAT(broken({.section = Section::kNetwork, .subjects = {"ens0"}}), IsEmpty());
  EXPECT_THAT(broken({.section = Section::kNetwork, .subjects = {"ens1"}, .held = "edited"}), IsEmpty());
  EXPECT_THAT(broken({.section = Section::kSysctl}), IsEmpty());
  EXPECT_THAT(broken({.section = Section::kNccl, .subjects = {"NCCL_IB_HCA", "ens1"}}), IsEmpty());
  EXPECT_THAT(rails_of(broken({.section = Section::kOpensm}, Fabric::kInfiniband)), ElementsAre("rail1"));
  EXPECT_THAT(broken({.section = Section::kOpensm}), IsEmpty());
}

TEST(SeenTwice, AFaultOfOneMomentIsNone) {
  const RailsSeen first{2, {fault("rail0", PathLayer::kMtu), fault("rail1", PathLayer::kGid)}};
  const RailsSeen second{2, {fault("rail1", PathLayer::kLink)}};
  const RailsSeen both = seen_twice(first, second);
  ASSERT_EQ(both.faults.size(), 1U);
  EXPECT_EQ(both.faults[0].fault.rail, "rail1");
  EXPECT_EQ(both.faults[0].layer, PathLayer::kLink);
}

}  // namespace
}  // namespace railbed
