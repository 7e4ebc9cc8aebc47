#include "configure/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Finding finding(std::string_view rule, std::string node, Status status = Status::kFail) {
  Finding finding;
  finding.rule = rule;
  finding.node = std::move(node);
  finding.subject = "ens6";
  finding.status = status;
  finding.message = "it is wrong";
  return finding;
}

NodeChange change(std::string setting, std::vector<std::string> subjects = {}, Risk risk = Risk::kNone) {
  return {.setting = std::move(setting),
          .subjects = std::move(subjects),
          .title = "a change",
          .risk = risk,
          .steps = {{StepKind::kReloadUnits}}};
}

ClusterPlan plan_of(std::vector<NodeChange> changes) {
  ClusterPlan plan;
  plan.nodes.push_back({.node = "gpu1", .changes = std::move(changes)});
  return plan;
}

std::vector<std::string> rules_of(const std::vector<PlannedFinding>& findings) {
  std::vector<std::string> rules;
  for (const PlannedFinding& finding : findings) rules.push_back(finding.rule);
  return rules;
}

TEST(Answers, KeepsWhatClearsARedFindingOfItsNode) {
  const auto plan =
      answers_to({finding("net.mtu", "gpu1"), finding("host.governor", "gpu2", Status::kWarn),
                  finding("rdma.memlock", "gpu1", Status::kPass)},
                 plan_of({change("network/rails"), change("governor/performance"), change("limits/logins")}));
  ASSERT_THAT(plan.nodes[0].changes, SizeIs(1));
  EXPECT_EQ(plan.nodes[0].changes[0].setting, "network/rails");
  EXPECT_THAT(rules_of(plan.nodes[0].changes[0].answers), ElementsAre("net.mtu"));
  EXPECT_THAT(rules_of(plan.unanswered), ElementsAre("host.governor"));
}

TEST(Answers, ANoteAloneMendsNothing) {
  NodeChange note = change("network/rails");
  note.steps.clear();
  note.notes = {"who keeps the network here is not known"};
  const auto plan = answers_to({finding("net.mtu", "gpu1")}, plan_of({note}));
  EXPECT_THAT(plan.nodes[0].changes, IsEmpty());
  EXPECT_THAT(rules_of(plan.unanswered), ElementsAre("net.mtu"));
}

// A subnet manager's partition limits the MTU of every node on its rail.
TEST(Answers, OfARailReachItsOtherNodes) {
  const auto on_rail = [](std::string node, const std::string& rail) {
    Finding made = finding("net.mtu", std::move(node));
    made.subject = "ib0";
    made.touches.add("rail:" + rail);
    return made;
  };
  const auto plan = answers_to({on_rail("gpu1", "ib"), on_rail("gpu2", "ib"), on_rail("gpu3", "other")},
                               plan_of({change("opensm/partition", {"rail:ib"})}));
  ASSERT_THAT(plan.nodes[0].changes, SizeIs(1));
  ASSERT_THAT(plan.nodes[0].changes[0].answers, SizeIs(2));
  EXPECT_EQ(plan.nodes[0].changes[0].answers[0].node, "gpu2");
  EXPECT_EQ(plan.nodes[0].changes[0].answers[1].node, "gpu1");
  ASSERT_THAT(plan.unanswered, SizeIs(1));
  EXPECT_EQ(plan.unanswered[0].node, "gpu3");
}

TEST(Answers, NeverTouchTheManagementNetwork) {
  const auto plan =
      answers_to({finding("net.mtu", "gpu1")}, plan_of({change("network/rails", {}, Risk::kAccess)}));
  EXPECT_THAT(plan.nodes[0].changes, IsEmpty());
  ASSERT_THAT(rules_of(plan.unanswered), ElementsAre("net.mtu"));
  EXPECT_THAT(plan.unanswered[0].why, HasSubstr("railbed apply --management"));
}

TEST(Answers, KnowWhatOnlyWaitsForABoot) {
  ClusterPlan waiting = plan_of({});
  waiting.nodes[0].awaiting = {change("limits/logins")};
  const auto plan =
      answers_to({finding("rdma.memlock", "gpu1"), finding("net.mtu", "gpu1")}, std::move(waiting));
  ASSERT_THAT(rules_of(plan.unanswered), ElementsAre("rdma.memlock", "net.mtu"));
  EXPECT_EQ(plan.unanswered[0].why, "waits for a reboot or a new login: a change");
  EXPECT_EQ(plan.unanswered[1].why, "");
}

TEST(Answers, KnowNothingOfANodeWithoutAPlan) {
  ClusterPlan none = plan_of({});
  none.nodes[0].error = "its system is not known";
  const auto plan = answers_to({finding("net.mtu", "gpu1"), finding("gpu.ecc", "gpu1")}, std::move(none));
  ASSERT_THAT(rules_of(plan.unanswered), ElementsAre("net.mtu", "gpu.ecc"));
  EXPECT_EQ(plan.unanswered[0].why, "the node could not be planned: its system is not known");
  EXPECT_EQ(plan.unanswered[1].why, "") << "no setting mends it, on whichever system";
}

TEST(Answers, KnowWhatOnlyLeavesOut) {
  const auto plan = answers_to({finding("net.mtu", "gpu1"), finding("host.governor", "gpu1")}, plan_of({}),
                               {.sections = {Section::kGovernor}});
  ASSERT_THAT(rules_of(plan.unanswered), ElementsAre("net.mtu", "host.governor"));
  EXPECT_EQ(plan.unanswered[0].why, "--only leaves out the section that it is about");
  EXPECT_EQ(plan.unanswered[1].why, "");
}

TEST(Answers, PromiseNothingOfAFindingForAPerson) {
  Finding by_hand = finding("net.mtu", "gpu1");
  by_hand.remedy.by_hand_only = true;
  const auto plan = answers_to({std::move(by_hand)}, plan_of({change("network/rails", {}, Risk::kAccess)}));
  ASSERT_THAT(rules_of(plan.unanswered), ElementsAre("net.mtu"));
  EXPECT_EQ(plan.unanswered[0].why, "");
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
                 plan_of({change("network/rails"), change("limits/logins")}), {.rules = {"rdma.memlock"}});
  ASSERT_THAT(plan.nodes[0].changes, SizeIs(1));
  EXPECT_EQ(plan.nodes[0].changes[0].setting, "limits/logins");
  EXPECT_THAT(plan.unanswered, IsEmpty());
}

TEST(Answers, CarryNothingElseOfASection) {
  const auto plan = answers_to({finding("toolkit.mpi", "gpu1")},
                               plan_of({change("packages/driver"), change("packages/mpi")}));
  ASSERT_THAT(plan.nodes[0].changes, SizeIs(1));
  EXPECT_EQ(plan.nodes[0].changes[0].setting, "packages/mpi");
}

TEST(Answers, OfOneInterfaceLeaveTheOthers) {
  Finding rdma = finding("rdma.gid", "gpu1");
  rdma.subject = "mlx5_1/1";
  rdma.touches = {"rdma:mlx5_1/1", "netdev:ens7"};
  const auto plan =
      answers_to({finding("net.mtu", "gpu1"), std::move(rdma)},
                 plan_of({change("network/rails", {"ens6"}), change("network/rails", {"ens7", "ens7.100"}),
                          change("network/rails", {"ens8"})}));
  ASSERT_THAT(plan.nodes[0].changes, SizeIs(2));
  EXPECT_THAT(rules_of(plan.nodes[0].changes[0].answers), ElementsAre("net.mtu"));
  EXPECT_THAT(rules_of(plan.nodes[0].changes[1].answers), ElementsAre("rdma.gid"));
}

}  // namespace
}  // namespace railbed
