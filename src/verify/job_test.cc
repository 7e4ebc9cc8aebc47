// Jobs as a monitor sees them: which nodes a finding names, and what is not known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/watched.h"
#include "verify/verify.h"

namespace railbed {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

JobSpell spell(const std::string& slurm_job, double minutes) {
  JobSpell spell{.job = {.hpc_job = slurm_job, .user = "alice", .processes = 2, .ranks = 4},
                 .since = 1768824000 - 60 * minutes,
                 .until = 1768824000,
                 .readings = static_cast<int>(minutes) + 1};
  spell.gpus = {{.address = "0000:17:00.0", .spins = true, .watts = 118, .bar = 175},
                {.address = "0000:18:00.0", .spins = true, .watts = 121, .bar = 175}};
  return spell;
}

std::vector<Finding> judged(const std::map<std::string, std::vector<JobSpell>>& nodes) {
  Evidence evidence;
  for (const auto& [node, jobs] : nodes) {
    evidence.nodes.emplace(node, Facts{});
    Watched watched;
    watched.work.jobs = jobs;
    evidence.watched.emplace(node, std::make_shared<const Watched>(watched));
  }
  std::vector<Finding> found;
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == "job.stalled") found.push_back(finding);
  return found;
}

TEST(JobStalled, OneFindingForAJobOnSeveralNodes) {
  const auto found = judged({{"gpu01", {spell("4711", 12)}}, {"gpu02", {spell("4711", 11)}}, {"gpu03", {}}});
  ASSERT_THAT(found, SizeIs(2));
  const Finding& red = found.front().status == Status::kWarn ? found.front() : found.back();
  EXPECT_EQ(red.status, Status::kWarn);
  EXPECT_EQ(red.node, "");
  EXPECT_EQ(red.subject, "Slurm job 4711");
  EXPECT_THAT(red.message, AllOf(HasSubstr("Slurm job 4711 of alice on gpu01, gpu02"),
                                 HasSubstr("11 minutes"), HasSubstr("4 GPUs spin with at most 121 W")));
  EXPECT_THAT(red.remedy.commands.back().text(), HasSubstr("scontrol show job 4711"));
}

TEST(JobStalled, ANodeThatWaitsForOneThatComputesIsNone) {
  JobSpell works = spell("4711", 0);
  works.readings = 0;
  works.works = "GPU 0000:17:00.0 draws 644 W";
  const auto found = judged({{"gpu01", {spell("4711", 12)}}, {"gpu02", {works}}});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().status, Status::kPass);
  EXPECT_THAT(found.front().observed, HasSubstr("draws 644 W of gpu02"));
}

TEST(JobStalled, UnreadTrafficIsUnknown) {
  JobSpell unread = spell("4711", 12);
  unread.unread = "mlx5_3/1";
  const auto found = judged({{"gpu01", {unread}}});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().status, Status::kUnknown);
  EXPECT_THAT(found.front().message, HasSubstr("mlx5_3/1 of gpu01 could not be read"));
}

TEST(JobStalled, ABriefWaitPassesAndPodsOfTwoNodesAreTwoJobs) {
  EXPECT_EQ(judged({{"gpu01", {spell("4711", 3)}}}).front().status, Status::kPass);
  JobSpell pod = spell("", 12);
  pod.job.pod = "trainer-0";
  const auto found = judged({{"gpu01", {pod}}, {"gpu02", {pod}}});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].node, "gpu01");
  EXPECT_EQ(found[1].node, "gpu02");
}

TEST(JobStalled, NamesWhoDoesNothing) {
  JobSpell half = spell("4711", 12);
  half.gpus.back().spins = false;
  const auto found = judged({{"gpu01", {half}}});
  EXPECT_THAT(found.front().message,
              HasSubstr("GPU 0000:18:00.0 of gpu01 of the job runs no kernel: look at its process first"));
}

TEST(JobStalled, WithoutAMonitorThereIsNothingToJudge) {
  Evidence evidence;
  evidence.nodes.emplace("gpu01", Facts{});
  for (const Finding& finding : verify(evidence).findings) EXPECT_NE(finding.rule, "job.stalled");
}

TEST(JobStalled, AJobsNameIsNoCommand) {
  const auto found = judged({{"gpu01", {spell("1; rm -rf /", 12)}}});
  EXPECT_THAT(found.front().remedy.commands.back().text(), HasSubstr("'1; rm -rf /'"));
}

}  // namespace
}  // namespace railbed
