#include "configure/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::ElementsAre;
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

TEST(Answers, NeverTouchTheManagementNetwork) {
  const auto plan =
      answers_to({finding("net.mtu", "gpu1")}, plan_of({change("network/rails", {}, Risk::kAccess)}));
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
                 plan_of({change("network/rails"), change("limits/logins")}), {"rdma.memlock"});
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
