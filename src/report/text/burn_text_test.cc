#include "report/text/burn_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

BurnGpu burned_gpu(int ordinal) {
  BurnGpu gpu;
  gpu.ordinal = ordinal;
  gpu.name = "NVIDIA H200";
  gpu.began = gpu.ended = true;
  gpu.phase = "bf16";
  gpu.memory = std::uint64_t{1} << 37;
  gpu.samples = 100;
  gpu.watts = 600;
  gpu.watts_max = 700;
  gpu.temperature = 64;
  gpu.slowdowns = {{"power cap", 60}};
  gpu.course.watts = {600, 650};
  gpu.tallies.resize(2);
  gpu.tallies[0].rate = 712.3e12;
  gpu.tallies[0].compared = 1'000'000;
  gpu.tallies[1].phase = BurnPhase::kMemory;
  gpu.tallies[1].rate = 3.9e12;
  return gpu;
}

BurnReport burn_of(int nodes) {
  BurnReport report;
  report.planned = report.seconds = 3600;
  for (int i = 0; i < nodes; ++i) {
    BurnNode node;
    node.node = "gpu0" + std::to_string(i + 1);
    for (int gpu = 0; gpu < 8; ++gpu) node.gpus.push_back(burned_gpu(gpu));
    report.nodes.push_back(node);
  }
  BurnFamily family;
  family.name = "NVIDIA H200";
  family.gpus = 8 * nodes;
  family.median = 712.3e12;
  family.low = 700e12;
  family.high = 720e12;
  family.spread = 0.008;
  family.smallest = 0.051;
  family.data_sheet = 989e12;
  report.families = {family};
  return report;
}

TEST(BurnText, OfSoundGpusShowsRatesAndEachGpu) {
  const std::string text = burn_text(burn_of(2), false);
  EXPECT_THAT(text, HasSubstr("burn-in of 16 GPUs on 2 nodes, 60 min: nothing wrong was found"));
  EXPECT_THAT(text, HasSubstr("1.6e+07 results compared bit for bit; 2 TiB of GPU memory tested"));
  EXPECT_THAT(text, AllOf(HasSubstr("712.3 TFLOP/s"), HasSubstr("72 %"), HasSubstr("5.1 %")));
  EXPECT_THAT(text, AllOf(HasSubstr("gpu02"), HasSubstr("600/700"), HasSubstr("power cap 60 %")));
}

TEST(BurnText, OfManyGpusListsThoseWithAFinding) {
  BurnReport report = burn_of(3);
  report.findings = {
      {BurnStatus::kFailure, "gpu02", 3, "wrong-result", "GPU 3 of gpu02 gave wrong results", "replace it"}};
  const std::string text = burn_text(report, false);
  EXPECT_THAT(text, HasSubstr(": 1 failure\n"));
  EXPECT_THAT(text, HasSubstr("FAIL    GPU 3 of gpu02 gave wrong results\n        do: replace it\n"));
  EXPECT_THAT(text, Not(HasSubstr("\n  gpu01")));
  EXPECT_THAT(text, HasSubstr("\n  gpu02"));
  EXPECT_THAT(burn_text(report, true), HasSubstr("\n  gpu01"));
}

TEST(BurnText, MarksDrillsAndAStop) {
  BurnReport report = burn_of(1);
  report.stopped = true;
  report.seconds = 720;
  report.injected = {{BurnInjection::kWrongResult, 1, 30}, {BurnInjection::kSlow, 2, 15}};
  report.findings = {
      {BurnStatus::kFailure, "gpu01", 1, "wrong-result", "GPU 1 of gpu01 gave wrong results", "", true}};
  const std::string text = burn_text(report, false);
  EXPECT_THAT(text, HasSubstr("stopped after 12 min of 60 min"));
  EXPECT_THAT(text, HasSubstr("INJECTED, a drill: one bit of a result of GPU 1 of gpu01 flipped after 30 s"));
  EXPECT_THAT(text, HasSubstr("INJECTED, a drill: GPU 2 of gpu01 paused 15 % of the time"));
  EXPECT_THAT(text, HasSubstr("FAIL    INJECTED: GPU 1"));
}

TEST(BurnText, NamesFromNodesDoNotReachTheTerminal) {
  BurnReport report = burn_of(1);
  const std::string attack = "x\x1b[2J\nFAIL";
  report.nodes[0].node = report.families[0].name = report.nodes[0].gpus[0].phase = attack;
  report.nodes[0].gpus[0].slowdowns[0].reason = attack;
  report.nodes[0].lost = true;
  report.injected = {{BurnInjection::kSlow, 0, 1}};
  report.findings = {{BurnStatus::kNote, attack, 0, attack, attack, attack}};
  for (const std::string& text : {burn_text(report, true), burn_line(report, 10)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\nFAIL")));
  }
}

TEST(BurnText, TheLineSaysHowLongWhatAndWhatIsWrong) {
  BurnReport report = burn_of(2);
  EXPECT_EQ(burn_line(report, 750), "12 min left: 16 GPUs on 2 nodes, 10.4 kW, bf16");
  report.nodes[0].gpus[0].fault_count = 1;
  report.nodes[0].gpus[1].trouble = "hangs";
  report.nodes[1].lost = true;
  EXPECT_EQ(
      burn_line(report, 60),
      "60 s left: 7 GPUs on 1 node, 4550 W, bf16; 1 GPU gave wrong results; 1 GPU ended early; lost: gpu02");
}

TEST(BurnText, ShowsDrives) {
  BurnReport report;
  report.planned = report.seconds = 3600;
  report.drives = true;
  BurnDrive drive;
  drive.folder = "/scratch\x1b[31m";
  drive.began = drive.ended = true;
  drive.held = std::uint64_t{1} << 30;
  drive.read = std::uint64_t{1} << 40;
  drive.compared = 1'000'000;
  drive.rate = 6.71e9;
  drive.devices = {{.name = "nvme0n1", .used = 3, .temperature = 61}};
  report.nodes.push_back({.node = "store01", .drives = {drive}});
  report.injected = {{BurnInjection::kWrongDrive, 0, 30}};
  report.drive_families = {{.name = "SAMSUNG MZQL23T8HCLS-00A07, ext4", .drives = 1, .median = 6.71e9}};
  const std::string text = burn_text(report, false);
  EXPECT_THAT(text, HasSubstr("burn-in of 1 drive on 1 node, 60 min: nothing wrong was found"));
  EXPECT_THAT(text, HasSubstr("one bit in the file on drive 0 of store01 flipped after 30 s"));
  EXPECT_THAT(text, HasSubstr("1 GiB of drives tested"));
  EXPECT_THAT(text, AllOf(HasSubstr("SAMSUNG MZQL23T8HCLS-00A07"), HasSubstr("6.71"), HasSubstr("3 %")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(burn_line(report, 60), HasSubstr("60 s left: 1 drive on 1 node"));
}

}  // namespace
}  // namespace railbed
