#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/foreign/testing/fixture.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;

TEST(Sockperf, PercentilesAreHalvesOfARoundTrip) {
  const ForeignRun read = foreign_run("sockperf-3.8-ping-pong.txt");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  const Measurement& only = read.run.measurements[0];
  EXPECT_EQ(only.engine, Engine::kTcp);
  EXPECT_EQ(only.metric, Metric::kLatency);
  EXPECT_EQ(only.operation, "ping-pong");
  EXPECT_EQ(only.message_bytes, 64u);
  EXPECT_EQ(only.to.address, "10.1.0.12");
  EXPECT_DOUBLE_EQ(only.summary.median, 7861);
  EXPECT_DOUBLE_EQ(only.summary.mean, 7902);
  EXPECT_DOUBLE_EQ(only.summary.p99, 8236);
  EXPECT_DOUBLE_EQ(only.summary.maximum, 42328);
  EXPECT_DOUBLE_EQ(only.summary.minimum, 7402);
  EXPECT_EQ(only.summary.samples, 603012u);
}

TEST(Sockperf, WholeRoundTripsAreHalved) {
  const ForeignRun half = foreign_run("sockperf-3.8-ping-pong.txt");
  const ForeignRun whole = foreign_run("sockperf-3.8-full-rtt.txt");
  ASSERT_EQ(whole.run.measurements.size(), 1u);
  EXPECT_DOUBLE_EQ(whole.run.measurements[0].summary.median, half.run.measurements[0].summary.median);
  EXPECT_DOUBLE_EQ(whole.run.measurements[0].summary.mean, half.run.measurements[0].summary.mean);
  EXPECT_TRUE(same_subject(whole.run.measurements[0], half.run.measurements[0]));
}

TEST(Sockperf, ColorsAreRemovedAndUnderLoadIsAnotherThing) {
  const ForeignRun read = foreign_run("sockperf-3.6-under-load.txt");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  EXPECT_EQ(read.run.measurements[0].operation, "under load");
  EXPECT_EQ(read.run.measurements[0].engine, Engine("udp"));
  EXPECT_EQ(read.run.measurements[0].message_bytes, 0u);
  EXPECT_EQ(read.run.measurements[0].summary.samples, 95000u);
}

TEST(Sockperf, WithoutTheCommandLineTheModeIsUnknown) {
  const ForeignRun read = foreign_run("sockperf-3.7-no-command.txt");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  EXPECT_EQ(read.run.measurements[0].operation, "mode unknown");
  EXPECT_EQ(read.run.measurements[0].message_bytes, 0u);
}

TEST(Sockperf, ThroughputIsNotRead) {
  const auto read = parse_foreign(foreign_text("sockperf-3.7-throughput.txt"));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text, HasSubstr("what was sent"));
}

}  // namespace
}  // namespace railbed
