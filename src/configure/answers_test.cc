#include "configure/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/rule.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Finding finding(std::string_view rule, std::string node, Status status = Status::kFail) {
  Finding one;
  one.rule = rule;
  one.node = std::move(node);
  one.subject = "ens6";
  one.status = status;
  one.message = "it is wrong";
  return one;
}

NodeChange change(Section section, Risk risk = Risk::kNone) {
  return {.section = section, .title = "a change", .risk = risk};
}

ClusterPlan plan_of(std::vector<NodeChange> changes) {
  ClusterPlan plan;
  plan.nodes.push_back({.node = "gpu1", .changes = std::move(changes)});
  return plan;
}

std::vector<std::string> rules_of(const std::vector<PlannedFinding>& findings) {
  std::vector<std::string> rules;
  for (const PlannedFinding& one : findings) rules.push_back(one.rule);
  return rules;
}

TEST(Answers, KeepsWhatClearsARedFindingOfItsNode) {
  const auto plan =
      answers_to({finding("net.mtu", "gpu1"), finding("host.governor", "gpu2", Status::kWarn),
                  finding("rdma.memlock", "gpu1", Status::kPass)},
                 plan_of({change(Section::kNetwork), change(Section::kGovernor), change(Section::kLimits)}));
  ASSERT_THAT(plan.nodes[0].changes, SizeIs(1));
  EXPECT_EQ(plan.nodes[0].changes[0].section, Section::kNetwork);
  EXPECT_THAT(rules_of(plan.nodes[0].changes[0].answers), ElementsAre("net.mtu"));
  EXPECT_THAT(rules_of(plan.unanswered), ElementsAre("host.governor"));
}

TEST(Answers, NeverTouchTheManagementNetwork) {
  const auto plan =
      answers_to({finding("net.mtu", "gpu1")}, plan_of({change(Section::kNetwork, Risk::kAccess)}));
  EXPECT_THAT(plan.nodes[0].changes, IsEmpty());
  EXPECT_THAT(rules_of(plan.unanswered), ElementsAre("net.mtu"));
}

TEST(Answers, LeaveAConsequenceToItsCause) {
  Finding consequence = finding("rdma.gid", "gpu1");
  consequence.caused_by = 0;
  const auto plan = answers_to({finding("net.carrier", "gpu1"), std::move(consequence)}, plan_of({}));
  EXPECT_THAT(rules_of(plan.unanswered), ElementsAre("net.carrier"));
}

TEST(Answers, OfSomeRulesAlone) {
  const auto plan =
      answers_to({finding("net.mtu", "gpu1"), finding("rdma.memlock", "gpu1"), finding("gpu.count", "gpu1")},
                 plan_of({change(Section::kNetwork), change(Section::kLimits)}), {"rdma.memlock"});
  ASSERT_THAT(plan.nodes[0].changes, SizeIs(1));
  EXPECT_EQ(plan.nodes[0].changes[0].section, Section::kLimits);
  EXPECT_THAT(plan.unanswered, IsEmpty());
}

TEST(Answers, NameRulesThatThereAre) {
  for (std::size_t i = 0; i < enum_names(Section()).size(); ++i)
    for (const std::string_view id : rules_answered_by(static_cast<Section>(i)))
      EXPECT_NE(find_rule(id), nullptr) << id;
}

}  // namespace
}  // namespace railbed
