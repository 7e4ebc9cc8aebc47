#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/burn/burn_verdict.h"

namespace railbed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

BurnReport sound_collectives() {
  BurnReport report;
  report.nodes = {{.node = "gpu01"}, {.node = "gpu02"}};
  BurnCollectives& all = report.collectives.emplace();
  all.gpus = 16;
  all.nodes = 2;
  all.turns = 20;
  all.bytes = 256 << 20;
  all.rate = 350e9;
  all.low = 340e9;
  all.high = 360e9;
  all.ceiling = 400e9;
  all.ceiling_name = "8 ports of gpu01";
  all.by_links = true;
  all.compared = std::uint64_t{1} << 40;
  return report;
}

BurnReport with_fault(BurnCollectiveFault fault) {
  BurnReport report = sound_collectives();
  report.collectives->faults.push_back(std::move(fault));
  report.collectives->fault_count = 1;
  return report;
}

std::vector<BurnFinding> findings_of(BurnReport report) {
  judge_burn(report);
  return report.findings;
}

TEST(BurnCollectiveVerdict, SoundOnesHaveNoFinding) {
  BurnReport report = sound_collectives();
  EXPECT_THAT(findings_of(report), IsEmpty());
  EXPECT_EQ(burn_exit_code(report), 0);
}

TEST(BurnCollectiveVerdict, AWrongResultAtOneGpuNamesIt) {
  const auto found =
      findings_of(with_fault({.at = 600, .elements = 12, .gpus = {"GPU 3 of gpu02"}, .gpu_count = 1}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].status, BurnStatus::kFailure);
  EXPECT_EQ(found[0].what, "wrong-collective");
  EXPECT_THAT(found[0].message, HasSubstr("first after 10 min in 12 elements, at GPU 3 of gpu02 alone"));
}

TEST(BurnCollectiveVerdict, AWrongResultAtAllGpusBlamesNone) {
  BurnCollectiveFault fault{.at = 600, .elements = 16, .gpus = {}, .gpu_count = 16};
  for (int i = 0; i < 8; ++i) fault.gpus.push_back("GPU " + std::to_string(i) + " of gpu01");
  const auto found = findings_of(with_fault(fault));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].message, HasSubstr("at all of them"));
  EXPECT_THAT(found[0].remedy, HasSubstr("halves of the GPUs"));
  fault.gpu_count = 9;
  EXPECT_THAT(findings_of(with_fault(fault))[0].message, HasSubstr("GPU 7 of gpu01 and more"));
}

TEST(BurnCollectiveVerdict, ADrillIsKeptApartFromWhatHappenedBesideIt) {
  BurnReport report =
      with_fault({.at = 60, .elements = 1, .gpus = {"GPU 0 of gpu01"}, .gpu_count = 1, .injected = true});
  report.collectives->faults.push_back({.at = 90, .elements = 2, .gpus = {"GPU 5 of gpu02"}, .gpu_count = 1});
  report.collectives->fault_count = 2;
  const auto found = findings_of(report);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_NE(found[0].injected, found[1].injected);
  for (const BurnFinding& one : found)
    EXPECT_THAT(one.message, HasSubstr(one.injected ? "GPU 0 of gpu01 alone" : "GPU 5 of gpu02 alone"));
}

TEST(BurnCollectiveVerdict, WrongResultsAtSeveralGpusNameEachWithItsCount) {
  BurnReport report = with_fault({.at = 60, .elements = 1, .gpus = {"GPU 0 of gpu01"}, .gpu_count = 1});
  report.collectives->faults.push_back({.at = 90, .elements = 2, .gpus = {"GPU 5 of gpu02"}, .gpu_count = 1});
  report.collectives->fault_count = 2;
  const auto found = findings_of(report);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].message, HasSubstr("at GPU 0 of gpu01 (1 time), GPU 5 of gpu02 (1 time)"));
}

TEST(BurnCollectiveVerdict, TurnsAndDrillsThatWereLeftOutAreNamed) {
  BurnReport report = sound_collectives();
  report.collectives->left_out = 2;
  report.collectives->skipped = "fewer than two GPUs work";
  report.collectives->smaller = 1;
  report.injected = {{BurnInjection::kWrongCollective, 3, 60}};
  const auto found = findings_of(report);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].what, "drill-not-made");
  EXPECT_EQ(found[0].status, BurnStatus::kUnknown);
  EXPECT_THAT(
      found[1].message,
      HasSubstr("of the collectives 2 turns were left out, the last because fewer than two GPUs work; "
                "1 turn had fewer than 16 GPUs"));
  report.collectives->drills = 1;
  EXPECT_THAT(findings_of(report), SizeIs(1));
}

TEST(BurnCollectiveVerdict, AFailureHasItsReason) {
  const auto found = findings_of(
      with_fault({.at = 60, .cause = "run: ncclCommInitRank: unhandled system error", .remedy = "look"}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].what, "collective-failed");
  EXPECT_THAT(found[0].message,
              HasSubstr("all_reduce failed in 1 turn, first after 60 s: run: ncclCommInitRank"));
  EXPECT_EQ(found[0].remedy, "look");
}

TEST(BurnCollectiveVerdict, ANodeThatWasAwayIsNoFaultOfTheirs) {
  BurnReport report = sound_collectives();
  report.collectives->interrupted = 2;
  const auto found = findings_of(report);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].status, BurnStatus::kNote);
}

TEST(BurnCollectiveVerdict, WithoutATurnNothingIsKnown) {
  BurnReport report = sound_collectives();
  *report.collectives = {.skipped = "fewer than two GPUs work"};
  const auto found = findings_of(report);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].status, BurnStatus::kUnknown);
  EXPECT_THAT(found[0].message, HasSubstr("collectives were not run: fewer than two GPUs work"));
}

TEST(BurnCollectiveVerdict, LessThanHalfOfTheLinksIsNamedAndOfPcieIsNot) {
  BurnReport report = sound_collectives();
  report.collectives->rate = report.collectives->low = 150e9;
  report.collectives->note = "NCCL uses sockets although gpu01 has RDMA: no verbs library";
  const auto found = findings_of(report);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].what, "collective-below-ceiling");
  EXPECT_THAT(found[0].message,
              AllOf(HasSubstr("37.5 % of its ceiling, 8 ports of gpu01"), HasSubstr("no verbs library")));
  report.collectives->by_links = false;
  EXPECT_THAT(findings_of(report), IsEmpty());
}

TEST(BurnCollectiveVerdict, ATurnOfHalfTheRateIsNamedAmongSeveral) {
  BurnReport report = sound_collectives();
  report.collectives->low = 100e9;
  ASSERT_THAT(findings_of(report), SizeIs(1));
  EXPECT_EQ(findings_of(report)[0].what, "collective-varies");
  report.collectives->turns = 2;
  EXPECT_THAT(findings_of(report), IsEmpty());
}

}  // namespace
}  // namespace railbed
