#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "campaign/measure/gpu_remedy.h"
#include "report/text/collective_table.h"
#include "report/text/gpu_table.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Measurement copy(const char* operation, const char* from, const char* to, double gigabytes) {
  Measurement measurement;
  measurement.engine = Engine::kGpuCopy;
  measurement.operation = operation;
  measurement.from = {"vm", from, "", "", -1};
  measurement.to = {"vm", to, "", "", -1};
  measurement.message_bytes = 128 << 20;
  measurement.checked_bytes = 128 << 20;
  measurement.summary.samples = 24;
  measurement.summary.median = measurement.summary.low = measurement.summary.high = gigabytes * 8e9;
  measurement.ceiling.limits.push_back({"NVLink, 18 links", BitRate::gigabytes(450), "18 × 25 GB/s"});
  return measurement;
}

TEST(GpuTable, PeersAreAMatrixAndTheSlowestIsNamed) {
  const std::string text =
      gpu_table({copy("host → GPU 0", "host", "GPU 0", 55), copy("GPU 0 → GPU 1", "GPU 0", "GPU 1", 390),
                 copy("GPU 1 → GPU 0", "GPU 1", "GPU 0", 200), copy("GPU 0 ↔ GPU 1", "GPU 0", "GPU 1", 700)});
  EXPECT_THAT(text, HasSubstr("  host → GPU 0         55.0 GB/s"));
  EXPECT_THAT(text, HasSubstr("  GPU 0           -    390.0\n  GPU 1       200.0        -\n"));
  EXPECT_THAT(text, HasSubstr("  GPU 0           -    700.0\n  GPU 1       700.0        -\n"));
  EXPECT_THAT(text, HasSubstr("slowest:\n  GPU 1 → GPU 0"));
  EXPECT_THAT(text, HasSubstr("44 %  of 450.0 GB/s: NVLink, 18 links"));
  EXPECT_THAT(text, HasSubstr("512 MiB checked"));
}

TEST(GpuRemedy, TheLogsOnlyWhereItNamesAnError) {
  diagnose::Log log;
  log.verdict.remedy = "Check ibv_devinfo.";
  log.verdict.severity = nccl::Severity::kWarning;
  const Failure lost{"run", "gpu02: gpu02 stopped answering", ""};
  EXPECT_THAT(gpu_remedy(lost, log, ""), HasSubstr("railbed verify"));
  log.verdict.severity = nccl::Severity::kError;
  EXPECT_EQ(gpu_remedy(lost, log, ""), "Check ibv_devinfo.");
  EXPECT_EQ(gpu_remedy({"run", "CUDA_ERROR_OUT_OF_MEMORY (2)", "", FailureKind::kNoMemory}, log, "take less"),
            "take less, or free the GPUs: nvidia-smi names who uses them");
}

CollectiveReport report() {
  CollectiveReport report;
  report.version = "2.28.3";
  report.first_result = 2.5e9;
  for (int i = 0; i < 2; ++i) report.ranks.push_back({i, "vm", 1, {i, "", "NVIDIA H200", 0, 0}});
  CollectiveRow row;
  row.bytes = 1 << 20;
  row.launched.median = 20'000;
  row.single.median = 21'000;
  row.algbw = row.busbw = 8 * 360e9;
  row.checked = true;
  report.rows.push_back(row);
  report.ceiling.limits.push_back({"NVLink, 18 links", BitRate::gigabytes(450), "18 × 25 GB/s"});
  return report;
}

TEST(CollectiveTable, SaysWhatItTookWhatItIsOfTheCeilingAndWhatNcclDid) {
  diagnose::Log log;
  log.networks.push_back({"Socket", 2, ""});
  log.communicators.resize(1);
  log.communicators[0].collective_channels = 24;
  log.communicators[0].connections.push_back({"P2P/CUMEM", 48, 0});
  const std::string text = collective_table(report(), log);
  EXPECT_THAT(
      text, HasSubstr("all_reduce float32, 2 × NVIDIA H200, NCCL 2.28.3\n  24 channels · 48 × P2P/CUMEM\n"));
  log.communicators[0].nodes = 2;
  EXPECT_THAT(collective_table(report(), log), HasSubstr("\n  network Socket · 24 channels"));
  EXPECT_THAT(text, HasSubstr("first verified result after 2.50 s"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "    1 MiB      20.00      21.00          -          -    360.00    360.00    80 %       0\n"));
  EXPECT_THAT(text, HasSubstr("80 % of 450.0 GB/s, limited by NVLink, 18 links"));
}

TEST(CollectiveTable, MoreThanTheWireIsExplained) {
  auto fast = report();
  fast.rows.front().busbw = 8 * 480e9;
  EXPECT_THAT(collective_table(fast, {}), HasSubstr("a switch reduces on the way"));
  EXPECT_THAT(collective_table(report(), {}), Not(HasSubstr("a switch reduces")));
}

TEST(CollectiveTable, SaysThatLargerSizesWereLeftOut) {
  auto cut = report();
  cut.cut = "cut to 14 GiB: the machine has 112 GiB available";
  EXPECT_THAT(collective_table(cut, {}),
              HasSubstr("\n  sizes cut to 14 GiB: the machine has 112 GiB available\n"));
}

TEST(CollectiveTable, AFailureIsShownWithWhatWasMeasured) {
  auto broken = report();
  broken.failure = Failure{"run", "hangs in: all_reduce of 4 MiB", "look at rank 1"};
  EXPECT_THAT(collective_table(broken, {}),
              HasSubstr("FAILED (run): hangs in: all_reduce of 4 MiB\n    do: look at rank 1\n"));
}

}  // namespace
}  // namespace railbed
