#include "report/text/compare_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/compare.h"

#include "base/result.h"
#include "report/text/bench_table.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BenchRun run_of(std::initializer_list<double> gigabits) {
  BenchRun run;
  run.id = 12;
  run.label = "switch";
  run.started_at = "2026-01-19T10:00:00Z";
  run.command = "bench rdma gpu01 gpu02";
  for (const double rate : gigabits) {
    Measurement measurement;
    measurement.engine = Engine::kRdma;
    measurement.operation = "write";
    measurement.rail = "rail0";
    measurement.from.node = "gpu01";
    measurement.to.node = "gpu02";
    measurement.message_bytes = 65536;
    measurement.streams = 2;
    measurement.summary.samples = 30;
    measurement.summary.median = rate * 1e9;
    run.measurements.push_back(measurement);
  }
  return run;
}

TEST(CompareTable, SaysWhatWasComparedHowFarItMovedAndTheVerdict) {
  BenchRun a = run_of({38, 38.1, 37.9});
  BenchRun b = run_of({19, 19.1, 18.9});
  a.fingerprint = {{"gpu01 kernel", "6.8.0-45"}};
  const CompareResult result = compare({a}, {b});
  const std::string text = compare_table({a}, {b}, result, {});
  EXPECT_THAT(text, HasSubstr("A: run 12, switch, 2026-01-19T10:00:00Z, bench rdma gpu01 gpu02\n"));
  EXPECT_THAT(text, HasSubstr("RDMA write bandwidth, rail0: gpu01 → gpu02\n"));
  EXPECT_THAT(text, HasSubstr("38.0 Gb/s ×3"));
  EXPECT_THAT(text, HasSubstr("0.500"));
  EXPECT_THAT(text, HasSubstr("gpu01 kernel: 6.8.0-45 → nothing\n"));
  EXPECT_THAT(text, HasSubstr("\nFAIL: 1 of 1 numbers are worse by 3 % or more, or gone\n"));
  EXPECT_EQ(exit_code_of(result.outcome), kExitFailures);
}

TEST(CompareTable, AnUnknownSizeIsNoZero) {
  BenchRun a = run_of({38});
  a.measurements[0].message_bytes = 0;
  a.measurements[0].streams = 0;
  a.measurements[0].rail.clear();
  const std::string text = compare_table({a}, {a}, compare({a}, {a}), {});
  EXPECT_THAT(text, HasSubstr("\nRDMA write bandwidth, gpu01 → gpu02\n"));
  EXPECT_THAT(text, HasSubstr("\n         -       -    38.0 Gb/s ×1"));
}

TEST(CompareTable, InconclusiveTellsWhatToRun) {
  const BenchRun a = run_of({38});
  const CompareResult result = compare({a}, {a});
  const std::string text = compare_table({a}, {a}, result, {});
  EXPECT_THAT(text, HasSubstr("1 more sitting on each side, and 2 more repeats in each would decide"));
  EXPECT_THAT(text, HasSubstr("railbed compare 12,14 13,15"));
  EXPECT_EQ(exit_code_of(result.outcome), kExitCouldNotLook);
}

TEST(MergeRepeats, OneRowASubjectWithTheSpreadFromRunToRun) {
  const auto merged = merge_repeats(run_of({38, 36, 37}).measurements);
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].summary.median, 37e9);
  EXPECT_EQ(merged[0].summary.low, 36e9);
  EXPECT_EQ(merged[0].summary.high, 38e9);
}

TEST(MergeRepeats, AFailureOfOneRepeatIsNotHidden) {
  BenchRun run = run_of({38, 36});
  run.measurements[1].summary = {};
  run.measurements[1].failure = {"run", "peer gone", ""};
  for (int order = 0; order < 2; ++order) {
    const auto merged = merge_repeats(run.measurements);
    ASSERT_EQ(merged.size(), 1u);
    EXPECT_EQ(merged[0].summary.median, 38e9);
    ASSERT_TRUE(merged[0].failure);
    EXPECT_EQ(merged[0].failure->cause, "peer gone");
    std::swap(run.measurements[0], run.measurements[1]);
  }
}

}  // namespace
}  // namespace railbed
