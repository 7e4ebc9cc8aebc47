#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/foreign/testing/fixture.h"

namespace railbed {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(FioReport, BeforeVersionThreeRatesAreKibibytesAndTimesMicroseconds) {
  const ForeignRun read = foreign_run("fio-2.20-read.json");
  ASSERT_EQ(read.run.measurements.size(), 2u);
  const Measurement& rate = read.run.measurements[0];
  EXPECT_EQ(rate.engine, Engine::kStorage);
  EXPECT_EQ(rate.operation, "sequential read");
  EXPECT_EQ(rate.rail, "Test");
  EXPECT_EQ(rate.from.device, "/dev/sdak");
  EXPECT_EQ(rate.message_bytes, 131072u);
  EXPECT_EQ(rate.streams, 1);
  EXPECT_DOUBLE_EQ(rate.summary.median, 249785.0 * 1024 * 8);
  const Measurement& time = read.run.measurements[1];
  EXPECT_EQ(time.metric, Metric::kLatency);
  EXPECT_EQ(time.operation, "sequential read, completion");
  EXPECT_DOUBLE_EQ(time.summary.median, 86'000);
  EXPECT_DOUBLE_EQ(time.summary.mean, 510'500);
}

TEST(FioReport, LaterRatesAreBytesAndTimesNanoseconds) {
  const ForeignRun read = foreign_run("fio-3.28-randrw.json");
  ASSERT_EQ(read.run.measurements.size(), 4u);
  const Measurement& reads = read.run.measurements[0];
  EXPECT_EQ(reads.operation, "random read of a mix");
  EXPECT_EQ(reads.message_bytes, 8192u);
  EXPECT_EQ(reads.streams, 128);
  EXPECT_DOUBLE_EQ(reads.summary.median, 2411965845.0 * 8);
  const Measurement& writes = read.run.measurements[2];
  EXPECT_EQ(writes.operation, "random write of a mix");
  EXPECT_EQ(writes.message_bytes, 4096u);
  EXPECT_DOUBLE_EQ(read.run.measurements[3].summary.median, 43'000);
  EXPECT_EQ(read.run.asked.at("ioengine"), "libaio");
  EXPECT_EQ(read.run.fingerprint.at("fio"), "fio-3.28");
}

TEST(FioReport, NotesBeforeTheDocumentAndFailedJobsAreNoObstacle) {
  const ForeignRun read = foreign_run("fio-3.33-notes.json");
  ASSERT_EQ(read.run.measurements.size(), 2u);
  EXPECT_EQ(read.run.measurements[0].operation, "random read buffered");
  EXPECT_EQ(read.run.measurements[0].message_bytes, 4096u);               // fio's default
  EXPECT_EQ(read.run.measurements[1].operation, "random read buffered");  // of the whole request
  EXPECT_DOUBLE_EQ(read.run.measurements[1].summary.median, 34'400);
  EXPECT_THAT(read.left_out, Contains(HasSubstr("job b: fio failed with error 5")));
  EXPECT_THAT(read.left_out, Contains(HasSubstr("--group_reporting")));
}

TEST(FioReport, WithoutTheListOfOptionsTheyAreUnknown) {
  const auto read = parse_foreign(
      R"({"fio version":"fio-2.1.3","jobs":[{"jobname":"x","read":{"bw":1000,"total_ios":10}}]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->run.measurements[0].operation, "read");
  EXPECT_EQ(read->run.measurements[0].message_bytes, 0u);
  EXPECT_EQ(read->run.measurements[0].streams, 0);
}

}  // namespace
}  // namespace railbed
