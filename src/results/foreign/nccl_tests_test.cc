#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/foreign/testing/fixture.h"

namespace railbed {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(NcclTests, ATableGivesTimesBusBandwidthsAndAReportOfItsRanks) {
  const ForeignRun read = foreign_run("nccl-tests-2.13-all_reduce.txt");
  ASSERT_EQ(read.run.measurements.size(), 4u);
  const Measurement& small = read.run.measurements[0];
  EXPECT_EQ(small.metric, Metric::kLatency);
  EXPECT_EQ(small.operation, "all_reduce float32");
  EXPECT_DOUBLE_EQ(small.summary.median, 48'050);
  EXPECT_EQ(small.streams, 8);
  EXPECT_EQ(small.from.node, "gpu01");
  EXPECT_EQ(small.to.node, "gpu02");
  const Measurement& large = read.run.measurements[3];
  EXPECT_EQ(large.metric, Metric::kBandwidth);
  EXPECT_EQ(large.operation, "all_reduce float32, in place");
  EXPECT_DOUBLE_EQ(large.summary.median, 308.53 * 8e9);
  ASSERT_EQ(read.run.collectives.size(), 1u);
  const CollectiveReport& report = read.run.collectives[0];
  EXPECT_EQ(report.operation, Collective::kAllReduce);
  EXPECT_EQ(report.version, "2.18.5");
  EXPECT_EQ(report.iterations, 20);
  EXPECT_FALSE(report.one_launcher);
  ASSERT_EQ(report.ranks.size(), 8u);
  EXPECT_EQ(report.ranks[7].gpu.name, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(report.rows.size(), 2u);
  EXPECT_NEAR(report.rows[1].busbw, 308.03 * 8e9, 0.006 * 8e9);
  EXPECT_TRUE(report.rows[1].checked);
}

TEST(NcclTests, TheOldTableHasNoColumnOfTheOperator) {
  const ForeignRun read = foreign_run("nccl-tests-2.0-all_gather.txt");
  ASSERT_EQ(read.run.measurements.size(), 6u);
  EXPECT_EQ(read.run.measurements[4].operation, "all_gather float32");
  EXPECT_DOUBLE_EQ(read.run.measurements[4].summary.median, 20.05 * 8e9);
  ASSERT_EQ(read.run.collectives.size(), 1u);
  EXPECT_FALSE(read.run.collectives[0].rows[0].checked);  // "error" is a difference, not a count
  EXPECT_EQ(read.run.collectives[0].ranks[1].gpu.name, "GeForce RTX 2080 Ti");
}

TEST(NcclTests, TagsOfMpirunAreRemovedAndAnUncheckedNumberIsNotChecked) {
  const ForeignRun read = foreign_run("nccl-tests-2.17-alltoall-tagged.txt");
  ASSERT_EQ(read.run.measurements.size(), 2u);
  EXPECT_EQ(read.run.measurements[0].operation, "alltoall float32");
  EXPECT_GT(read.run.measurements[0].checked_bytes, 0u);
  EXPECT_EQ(read.run.measurements[1].checked_bytes, 0u);
  EXPECT_EQ(read.run.collectives[0].version, "2.28.3");
}

TEST(NcclTests, JsonHasTheSameNumbersAndWrongElementsAreAFailure) {
  const ForeignRun read = foreign_run("nccl-tests-2.17.json");
  ASSERT_EQ(read.run.measurements.size(), 4u);
  EXPECT_EQ(read.run.measurements[0].operation, "all_reduce float32");
  EXPECT_NEAR(read.run.measurements[0].summary.median, 1048576 / 29.371 * 8e6, 1e6);
  EXPECT_FALSE(read.run.measurements[2].failure);
  ASSERT_TRUE(read.run.measurements[3].failure);
  EXPECT_EQ(read.run.measurements[3].failure->cause, "3 elements are wrong");
  ASSERT_EQ(read.run.collectives.size(), 1u);
  EXPECT_EQ(read.run.collectives[0].version, "2.29.7");
  EXPECT_TRUE(read.run.collectives[0].one_launcher);
  EXPECT_EQ(read.run.collectives[0].ranks.size(), 2u);
}

TEST(NcclTests, WhatIsTypedBesideTheTableDecidesNothing) {
  std::string text = foreign_text("nccl-tests-2.13-all_reduce.txt");
  text = text.substr(text.find("# nThread"));
  // Only an all-reduce moves more over each bus than its size.
  const auto known = parse_foreign(text);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->run.measurements[0].operation, "all_reduce float32");
  text = foreign_text("nccl-tests-2.0-all_gather.txt");
  const auto unknown = parse_foreign(text.substr(text.find("# nThread")));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().text, HasSubstr("its operation is unknown"));
}

// The columns and numbers of superbenchmark's tests/data/nccl_*.log, eight A100.
TEST(NcclTests, ATableWithoutANameShowsWhatItIsOf) {
  const auto operation = [](const std::string& columns, const std::string& cells, const std::string& busbw,
                            int ranks = 8) {
    std::string text =
        "# nThread 1 nGpus 8 minBytes 1 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20\n";
    for (int i = 0; i < ranks; ++i)
      text += "#   Rank  " + std::to_string(i) + " Pid 112476 on localhost device  " + std::to_string(i) +
              " [0x00] A100\n";
    text +=
        "#       size         count    type " + columns +
        "     time   algbw   busbw  error     time   algbw   busbw  error\n  8589934592    2147483648   float " +
        cells + "    33646  255.31  " + busbw + "    N/A    32669  255.31  " + busbw + "    N/A\n";
    const auto read = parse_foreign(text);
    return read ? read->run.measurements.at(0).operation : "none";
  };
  EXPECT_EQ(operation("redop root", "sum 0", "255.31"), "reduce float32");
  EXPECT_EQ(operation("root", "0", "255.31"), "broadcast float32");
  EXPECT_EQ(operation("redop", "sum", "223.39"), "reduce_scatter float32");
  EXPECT_EQ(operation("redop", "", "223.39"), "alltoall float32");
  EXPECT_EQ(operation("redop", "sum", "446.79"), "all_reduce float32");
  EXPECT_EQ(operation("redop root", "none -1", "255.31"), "sendrecv float32");
  EXPECT_EQ(operation("redop", "sum", "255.31", 2), "all_reduce float32") << "the factor is one";
  EXPECT_EQ(operation("", "", "223.39"), "none") << "an all_gather or a hypercube";
  EXPECT_EQ(operation("redop root", "none -1", "223.39"), "none") << "an all_gather or an alltoall";
  EXPECT_EQ(operation("redop root", "none 0", "223.39"), "none") << "a gather or a scatter";
  EXPECT_EQ(operation("redop", "sum", "200.00"), "none") << "a factor of none";
  EXPECT_EQ(operation("redop root", "sum 0", "255.31", 0), "none") << "without ranks";
}

TEST(NcclTests, WithoutRanksTheirNumberIsUnknown) {
  std::string text = foreign_text("nccl-tests-2.13-all_reduce.txt");
  const auto from = text.find("#  Rank"), to = text.find("NCCL version");
  text.erase(from, to - from);
  const auto read = parse_foreign(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->run.measurements[0].streams, 0);
  EXPECT_TRUE(read->run.collectives.empty());
  EXPECT_THAT(read->left_out, Contains(HasSubstr("their number is unknown")));
}

TEST(NcclTests, SeveralRanksOfOneNumberAreNotOneJob) {
  std::string text = foreign_text("nccl-tests-2.13-all_reduce.txt");
  text.replace(text.find("Rank  1"), 7, "Rank  0");
  const auto read = parse_foreign(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->run.measurements[0].streams, 0);
  EXPECT_TRUE(read->run.collectives.empty());
}

TEST(NcclTests, TimesOfTheProcessorAreNotThoseOfTheOperation) {
  std::string text = foreign_text("nccl-tests-2.13-all_reduce.txt");
  for (std::size_t at; (at = text.find("    time  ")) != std::string::npos;)
    text.replace(at, 10, " cputime  ");
  const auto read = parse_foreign(text);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->run.measurements.size(), 2u);  // the bus bandwidths
  EXPECT_THAT(read->left_out, Contains(HasSubstr("its time is not printed")));
}

TEST(NcclTests, TablesOfSeveralCommandsAreKeptApart) {
  const auto read = parse_foreign(foreign_text("nccl-tests-2.0-all_gather.txt") +
                                  foreign_text("nccl-tests-2.13-all_reduce.txt") +
                                  foreign_text("nccl-tests-2.13-all_reduce.txt"));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->run.measurements.size(), 14u);
  EXPECT_EQ(read->run.measurements[0].streams, 2);
  EXPECT_TRUE(same_subject(read->run.measurements[6], read->run.measurements[10]));
  EXPECT_EQ(read->run.collectives.size(), 3u);
}

TEST(NcclTests, TheFirstVersionPrintsNoUnit) {
  const auto read = parse_foreign(
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw  res size\n"
      "     1048576        262144   float     sum    0.047  22.13  22.13    0e+00    0.046  22.3  22.3  0e+00\n");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text, HasSubstr("no unit"));
}

}  // namespace
}  // namespace railbed
