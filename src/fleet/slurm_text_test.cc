#include "fleet/slurm_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/slurm_launcher.h"

namespace railbed::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kNonce = "0123456789abcdef";

std::string from_slurm(std::string text) {
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos;) text.replace(at, 1, kNonce);
  return text;
}

TEST(SlurmText, ReadsNodesOnceWithAllTheirPartitions) {
  const auto found =
      parse_slurm_nodes(from_slurm("@|gpu1|idle|main*|none\n@|gpu1|idle|debug|none\n"
                                   "@|gpu2|drained|main*|fan | loud\n@|gpu3|down*|debug|Not responding\n"),
                        kNonce);
  ASSERT_EQ(found.nodes.size(), 3u);
  EXPECT_EQ(found.standard_partition, "main");
  EXPECT_THAT(found.nodes[0].partitions, ElementsAre("main", "debug"));
  EXPECT_EQ(found.nodes[0].reason, "");
  EXPECT_EQ(found.nodes[1].reason, "fan | loud");
  EXPECT_EQ(found.nodes[2].state, "down*");
}

// Slurm prints the line feeds of a reason unchanged (22.05).
TEST(SlurmText, AReasonMakesNoNode) {
  const auto found = parse_slurm_nodes(
      from_slurm(
          "@|gpu2|drained|main*|fan is loud\nx|gpu9|idle|main*|none\n|gpu9|idle|main*|none\n\033[2J\n"),
      kNonce);
  ASSERT_EQ(found.nodes.size(), 1u);
  EXPECT_EQ(found.nodes[0].reason, "fan is loud");
}

TEST(SlurmText, NamesThatCouldBeMoreThanOneNodeAreNone) {
  EXPECT_THAT(
      parse_slurm_nodes(
          from_slurm("@|gpu[1-2]|idle|main|none\n@|a,b|idle|m|none\n@|-x|idle|m|none\n@||idle|m|\n"), kNonce)
          .nodes,
      IsEmpty());
}

TEST(SlurmText, ReadsJobsWithTheirNodes) {
  const auto jobs =
      parse_slurm_jobs(from_slurm("@|12|alice|gpu[01-03],nas\n@|13|bob|\n@|x|eve|gpu1\n"), kNonce);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].number, 12u);
  EXPECT_EQ(jobs[0].user, "alice");
  EXPECT_THAT(jobs[0].nodes, ElementsAre("gpu01", "gpu02", "gpu03", "nas"));
  EXPECT_THAT(jobs[1].nodes, IsEmpty());
}

std::string why(std::string state, SlurmUse use, std::string reason = "") {
  return why_not({"gpu1", std::move(state), std::move(reason), {}}, use).value_or("");
}

TEST(SlurmText, SaysWhyANodeIsNotAsked) {
  EXPECT_EQ(why("drained", SlurmUse::kAlone, "fan is loud"),
            "it is drained (state drained, reason: fan is loud)");
  EXPECT_THAT(why("down*", SlurmUse::kJob), HasSubstr("does not respond"));
  EXPECT_THAT(why("allocated*", SlurmUse::kJob), HasSubstr("does not respond"));
  EXPECT_THAT(why("idle~", SlurmUse::kAlone), HasSubstr("powered it down"));
  EXPECT_THAT(why("allocated", SlurmUse::kAlone), HasSubstr("--overlap"));
  EXPECT_THAT(why("mixed-", SlurmUse::kAlone), HasSubstr("--overlap"));
  EXPECT_THAT(why("draining", SlurmUse::kOverlap), HasSubstr("being drained"));
  EXPECT_THAT(why("reserved", SlurmUse::kAlone), HasSubstr("SALLOC_RESERVATION"));
  EXPECT_THAT(why("something-new", SlurmUse::kAlone), HasSubstr("state something-new"));
}

TEST(SlurmText, LetsBeWhatCanBeAsked) {
  for (const char* state : {"idle", "planned", "completing"})
    EXPECT_EQ(why(state, SlurmUse::kAlone), "") << state;
  for (const char* state : {"idle", "mixed", "allocated"})
    EXPECT_EQ(why(state, SlurmUse::kOverlap), "") << state;
  for (const char* state : {"allocated", "mixed", "draining"})
    EXPECT_EQ(why(state, SlurmUse::kJob), "") << state;
  EXPECT_EQ(why_not({"gpu1", "reserved", "", {}}, SlurmUse::kAlone, true), std::nullopt);
}

TEST(SlurmText, TakesAPartitionThatHasAllNodes) {
  const SlurmNodeState both{"a", "idle", "", {"debug", "main"}};
  const SlurmNodeState state{"b", "idle", "", {"debug"}};
  EXPECT_EQ(partition_of_all({both}, "main"), "main");
  EXPECT_EQ(partition_of_all({both, state}, "main"), "debug");
  EXPECT_EQ(partition_of_all({both, {"c", "idle", "", {"other"}}}, "main"), "");
  EXPECT_EQ(partition_of_all({}, "main"), "");
}

TEST(SlurmText, HostlistsGoBothWays) {
  EXPECT_EQ(slurm_hostlist({"gpu01", "gpu02", "gpu03", "nas"}), "gpu[01-03],nas");
  EXPECT_THAT(*slurm_names("gpu[01-02,04],nas"), ElementsAre("gpu01", "gpu02", "gpu04", "nas"));
  for (const char* bad : {"", "gpu[1-", "gpu[1-999999999]", "a b", "-w", "a,,b", "a,--x"})
    EXPECT_FALSE(slurm_names(bad)) << bad;
}

TEST(SlurmStep, NamesTheJobAndTheNodeAndHasNoTerminal) {
  const auto words = step_words("7", "gpu1", "script");
  EXPECT_THAT(words,
              testing::IsSupersetOf({"srun", "--jobid=7", "--nodelist=gpu1", "--ntasks=1", "--unbuffered"}));
  EXPECT_THAT(words, testing::Not(testing::Contains("--pty")));
  EXPECT_EQ(words.back(), "script");
}

TEST(SlurmStep, AJobsVariablesChangeNothing) {
  const Environment environment{
      {"SLURM_NTASKS", "8"}, {"SLURM_CONF", "/etc/s"}, {"SQUEUE_USERS", "me"}, {"HOME", "/"}};
  EXPECT_THAT(without_job_variables(environment, {"srun"}),
              ElementsAre("env", "-u", "SLURM_NTASKS", "-u", "SQUEUE_USERS", "srun"));
}

}  // namespace
}  // namespace railbed::fleet
