#include "cli/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using Kind = SlurmStep::Kind;
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

// As slurm 22.05 prints it.
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

TEST(SlurmStep, DrainsOnFailuresOnly) {
  const SlurmStep step = slurm_step("gpu1", kFails, kIdle);
  EXPECT_EQ(step.kind, Kind::kDrain);
  EXPECT_EQ(step.reason, kOurs.reason);
  EXPECT_EQ(step.line, "gpu1: drained: net.mtu: ens6 has MTU 1500, expected \"9000\"");
  EXPECT_EQ(slurm_step("gpu1", kWarns, kIdle).kind, Kind::kNothing);
  EXPECT_EQ(slurm_step("gpu1", kUnknown, kIdle).kind, Kind::kNothing);
  EXPECT_EQ(slurm_step("gpu1", kClean, kIdle).kind, Kind::kNothing);
}

TEST(SlurmStep, TakesBackOnlyItsOwnDrain) {
  EXPECT_EQ(slurm_step("gpu1", kClean, kOurs).kind, Kind::kUndrain);
  EXPECT_EQ(slurm_step("gpu1", kWarns, kOurs).kind, Kind::kUndrain);
  EXPECT_EQ(slurm_step("gpu1", kUnknown, kOurs).kind, Kind::kNothing) << "not seen mended";
  for (const Verdict& any : {kClean, kFails, kWarns, kUnknown}) {
    EXPECT_EQ(slurm_step("gpu1", any, kForeign).kind, Kind::kNothing);
    EXPECT_THAT(slurm_step("gpu1", any, kForeign).line, HasSubstr("fan broken"));
  }
}

TEST(SlurmStep, SaysTheSameReasonOnce) {
  EXPECT_EQ(slurm_step("gpu1", kFails, kOurs).kind, Kind::kNothing);
  EXPECT_EQ(slurm_step("gpu1", kFails, {true, "railbed: gpu.count: 7 of 8"}).kind, Kind::kDrain);
}

TEST(TellSlurm, RunsScontrolWithoutAShellAndSaysWhenItCannot) {
  std::vector<std::vector<std::string>> asked;
  const auto run = [&](const std::vector<std::string>& words, std::chrono::milliseconds) {
    asked.push_back(words);
    return Reading<CommandOutput>({0, "State=IDLE\n", ""}, "scontrol");
  };
  const auto told = tell_slurm("gpu1", kFails, run);
  ASSERT_TRUE(told);
  EXPECT_THAT(asked, ElementsAre(ElementsAre("scontrol", "show", "node", "gpu1"),
                                 ElementsAre("scontrol", "update", "NodeName=gpu1", "State=DRAIN",
                                             "Reason=" + kOurs.reason)));
  const auto refused = tell_slurm("gpu1", kFails, [](const auto&, auto) {
    return Reading<CommandOutput>({1, "", "slurm_load_node error: Unable to contact slurm controller\n"},
                                  "scontrol show node gpu1");
  });
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("Unable to contact slurm controller"));
}

}  // namespace
}  // namespace railbed
