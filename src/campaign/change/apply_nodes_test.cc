#include "campaign/change/apply_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::HasSubstr;

ClusterPlan plan_of(NodeChange change) {
  ClusterPlan plan;
  plan.nodes.push_back({.node = "gpu1", .changes = {std::move(change)}});
  return plan;
}

std::string refusal(const ClusterPlan& plan, const ApplyChoice& choice = {}) {
  const auto checked = check_apply(plan, choice);
  return checked ? "" : checked.error().text;
}

TEST(CheckApply, RefusesTheManagementNetworkUnlessItIsAllowed) {
  const ClusterPlan plan = plan_of({.title = "eth0 10.0.0.1/24", .risk = Risk::kAccess});
  EXPECT_THAT(refusal(plan), HasSubstr("--management"));
  ApplyChoice choice;
  choice.management = true;
  EXPECT_EQ(refusal(plan, choice), "");
}

TEST(CheckApply, RefusesWhatIsHeldUnlessItIsLeftOut) {
  const ClusterPlan plan = plan_of({.title = "a file", .held = "it was edited by hand"});
  EXPECT_THAT(refusal(plan), HasSubstr("--skip-held"));
  ApplyChoice choice;
  choice.skip_held = true;
  EXPECT_EQ(refusal(plan, choice), "");
}

TEST(CheckApply, RefusesANodeThatCouldNotBePlanned) {
  ClusterPlan plan;
  plan.nodes.push_back({.node = "gpu1", .error = "it does not answer"});
  EXPECT_THAT(refusal(plan), HasSubstr("gpu1: it does not answer"));
}

TEST(CheckApply, RefusesAClockThatIsFarOffButLetsItBeSet) {
  ClusterPlan plan = plan_of({.section = Section::kNetwork, .title = "ens6"});
  plan.nodes[0].clock_offset = -3600;
  EXPECT_THAT(refusal(plan), HasSubstr("the clock of gpu1 is 3600 s behind ours"));
  plan.nodes[0].clock_offset = 299;
  EXPECT_EQ(refusal(plan), "");
  plan = plan_of({.section = Section::kServices, .title = "chrony runs"});
  plan.nodes[0].clock_offset = -3600;
  EXPECT_EQ(refusal(plan), "");
}

}  // namespace
}  // namespace railbed
