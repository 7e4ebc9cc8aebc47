#include "campaign/change/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/look/health.h"
#include "report/findings.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Finding finding(Status status, std::string message) {
  Finding made;
  made.status = status;
  made.rule = "net.mtu";
  made.subject = "ens6";
  made.message = std::move(message);
  return made;
}

const Verdict kFails{{finding(Status::kFail, "ens6 has MTU 1500, expected \"9000\"")}};
const Verdict kWarns{{finding(Status::kWarn, "ens6 is slow")}};
const Verdict kUnknown{{finding(Status::kUnknown, "could not look")}};
const Verdict kClean{{finding(Status::kPass, "MTU is right")}};

const SlurmNode kIdle{false, ""};
const SlurmNode kOurs{true, "railbed: net.mtu: ens6 has MTU 1500, expected '9000'"};
const SlurmNode kForeign{true, "fan broken"};

// The output of slurm 22.05.
constexpr std::string_view kShown = R"(NodeName=gpu1 Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=0.31
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=main
   Reason=railbed: net.mtu: ens6 [x] has MTU 1500 [root@2026-11-21T09:00:00]
)";

TEST(SlurmNode, IsReadFromWhatScontrolShows) {
  const auto node = parse_slurm_node(kShown);
  ASSERT_TRUE(node);
  EXPECT_TRUE(node->drained_by_railbed());
  EXPECT_EQ(node->reason, "railbed: net.mtu: ens6 [x] has MTU 1500");
  EXPECT_FALSE(parse_slurm_node("   State=DOWN* X=1\n")->drained);
  EXPECT_TRUE(parse_slurm_node("   State=DOWN*+DRAIN+NOT_RESPONDING X=1\n")->drained);
  EXPECT_FALSE(parse_slurm_node("slurm_load_node error: Invalid node name specified"));
}

std::string line_of(const Verdict& verdict) { return render_line(verdict, kSlurmLineBytes); }
SlurmOutcome outcome(const Verdict& verdict, const SlurmNode& now) {
  return slurm_step(verdict, line_of(verdict), now).outcome;
}

TEST(SlurmStep, DrainsOnFailuresOnly) {
  const SlurmStep step = slurm_step(kFails, line_of(kFails), kIdle);
  EXPECT_EQ(step.outcome, SlurmOutcome::kDrained);
  EXPECT_EQ(step.reason, kOurs.reason);
  EXPECT_EQ(slurm_text("gpu1", line_of(kFails), step),
            "gpu1: drained: net.mtu: ens6 has MTU 1500, expected \"9000\"");
  EXPECT_EQ(outcome(kWarns, kIdle), SlurmOutcome::kUntouched);
  EXPECT_EQ(outcome(kUnknown, kIdle), SlurmOutcome::kUntouched);
  EXPECT_EQ(outcome(kClean, kIdle), SlurmOutcome::kUntouched);
}

TEST(SlurmStep, TakesBackOnlyItsOwnDrain) {
  EXPECT_EQ(outcome(kClean, kOurs), SlurmOutcome::kUndrained);
  EXPECT_EQ(outcome(kWarns, kOurs), SlurmOutcome::kUndrained);
  EXPECT_EQ(outcome(kUnknown, kOurs), SlurmOutcome::kStaysDrained) << "not seen mended";
  for (const Verdict& any : {kClean, kFails, kWarns, kUnknown}) {
    const SlurmStep step = slurm_step(any, line_of(any), kForeign);
    EXPECT_EQ(step.outcome, SlurmOutcome::kOthersDrain);
    EXPECT_THAT(slurm_text("gpu1", line_of(any), step), HasSubstr("fan broken"));
  }
}

TEST(SlurmStep, TheRuleThatDrainedHasToLookAgain) {
  const auto of_rule = [](std::string_view rule, Status status) {
    Finding made = finding(status, "…");
    made.rule = rule;
    return made;
  };
  const Finding torch = of_rule("torch.import", Status::kUnknown);
  EXPECT_EQ(outcome({{of_rule("net.mtu", Status::kPass), torch}}, kOurs), SlurmOutcome::kUndrained)
      << "what has nothing to do with the drain keeps no node drained";
  EXPECT_EQ(outcome({{of_rule("net.mtu", Status::kUnknown), torch}}, kOurs), SlurmOutcome::kStaysDrained);
  EXPECT_EQ(outcome({{of_rule("net.mtu", Status::kNotApplicable)}}, kOurs), SlurmOutcome::kStaysDrained)
      << "the log that told of it cannot be read any more";
}

TEST(SlurmStep, SaysTheSameReasonOnce) {
  EXPECT_EQ(outcome(kFails, kOurs), SlurmOutcome::kStillDrained);
  EXPECT_EQ(outcome(kFails, {true, "railbed: gpu.count: 7 of 8"}), SlurmOutcome::kDrained);
}

TEST(TellSlurm, RunsScontrolWithoutAShellAndSaysWhenItCannot) {
  std::vector<std::vector<std::string>> asked;
  const auto run = [&](const std::vector<std::string>& words, std::chrono::milliseconds) {
    asked.push_back(words);
    return Reading<CommandOutput>({0, "State=IDLE\n", ""}, "scontrol");
  };
  const auto told = tell_slurm("gpu1", kFails, line_of(kFails), run);
  ASSERT_TRUE(told);
  EXPECT_THAT(asked, ElementsAre(ElementsAre("scontrol", "show", "node", "gpu1"),
                                 ElementsAre("scontrol", "update", "NodeName=gpu1", "State=DRAIN",
                                             "Reason=" + kOurs.reason)));
  const auto refused = tell_slurm("gpu1", kFails, line_of(kFails), [](const auto&, auto) {
    return Reading<CommandOutput>({1, "", "slurm_load_node error: Unable to contact slurm controller\n"},
                                  "scontrol show node gpu1");
  });
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("Unable to contact slurm controller"));
}

}  // namespace
}  // namespace railbed
