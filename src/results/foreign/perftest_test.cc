#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/foreign/testing/fixture.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Perftest, MegabytesAreMebibytesAndEachSizeIsAMeasurement) {
  const ForeignRun read = foreign_run("perftest-4.4-write-all.txt");
  ASSERT_EQ(read.run.measurements.size(), 4u);
  const Measurement& last = read.run.measurements[3];
  EXPECT_EQ(last.engine, Engine::kRdma);
  EXPECT_EQ(last.metric, Metric::kBandwidth);
  EXPECT_EQ(last.operation, "write");
  EXPECT_EQ(last.message_bytes, 8388608u);
  EXPECT_EQ(last.streams, 1);
  EXPECT_EQ(last.mtu, 4096);
  EXPECT_EQ(last.from.node, "client");
  EXPECT_EQ(last.from.device, "mlx5_0");
  EXPECT_DOUBLE_EQ(last.summary.median, 11742.10 * 1048576 * 8);
  EXPECT_EQ(read.run.asked.at("TX depth"), "128");
  EXPECT_THAT(read.left_out, IsEmpty());
}

TEST(Perftest, GigabitsAreDecimalAndAReadMovesDataFromTheServer) {
  const ForeignRun read = foreign_run("perftest-5.5-read-gbits.txt");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  const Measurement& only = read.run.measurements[0];
  EXPECT_EQ(only.operation, "read");
  EXPECT_DOUBLE_EQ(only.summary.median, 92.45e9);
  EXPECT_EQ(only.from.node, "server");
  EXPECT_EQ(only.to.node, "client");
  EXPECT_THAT(read.left_out, ElementsAre(HasSubstr("conflicting CPU frequencies")));
}

TEST(Perftest, BothDirectionsAreAnotherOperationThanOne) {
  const ForeignRun read = foreign_run("perftest-6.20-send-duplex.txt");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  EXPECT_EQ(read.run.measurements[0].operation, "send duplex");
  EXPECT_EQ(read.run.measurements[0].streams, 4);
  EXPECT_DOUBLE_EQ(read.run.measurements[0].summary.median, 22514.25 * 1048576 * 8);
}

TEST(Perftest, TheNewNameOfTheUnitIsKnownAndAPeakOfZeroIsNotTaken) {
  const ForeignRun read = foreign_run("perftest-24.04-write.txt");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  EXPECT_DOUBLE_EQ(read.run.measurements[0].summary.median, 46750.5 * 1048576 * 8);
  EXPECT_EQ(read.run.measurements[0].summary.maximum, read.run.measurements[0].summary.median);
}

TEST(Perftest, LatenciesAreMicrosecondsAndTheTypicalOneIsTheMedian) {
  const ForeignRun read = foreign_run("perftest-4.5-write-lat.txt");
  ASSERT_EQ(read.run.measurements.size(), 2u);
  const Measurement& first = read.run.measurements[0];
  EXPECT_EQ(first.metric, Metric::kLatency);
  EXPECT_EQ(first.operation, "write");
  EXPECT_DOUBLE_EQ(first.summary.median, 850);
  EXPECT_DOUBLE_EQ(first.summary.minimum, 810);
  EXPECT_DOUBLE_EQ(first.summary.p99, 910);
  EXPECT_DOUBLE_EQ(first.summary.p999, 2580);
  EXPECT_EQ(first.summary.deviation, 0);  // truncated by perftest
  EXPECT_EQ(first.summary.samples, 1000u);
  EXPECT_EQ(foreign_run("perftest-6.20-read-lat.txt").run.measurements[0].operation, "read");
}

TEST(Perftest, AMeanIsNotComparedWithAMedian) {
  const ForeignRun read = foreign_run("perftest-24.04-send-lat-duration.txt");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  EXPECT_EQ(read.run.measurements[0].operation, "send, mean");
  EXPECT_DOUBLE_EQ(read.run.measurements[0].summary.median, 940);
}

TEST(Perftest, JsonWithoutQuotesIsRead) {
  const ForeignRun read = foreign_run("perftest-4.5-lat.json");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  const Measurement& only = read.run.measurements[0];
  EXPECT_EQ(only.operation, "write");
  EXPECT_EQ(only.from.device, "rxe0");
  EXPECT_EQ(only.message_bytes, 128u);
  EXPECT_EQ(only.mtu, 1024);
  EXPECT_DOUBLE_EQ(only.summary.median, 2400);
  EXPECT_DOUBLE_EQ(only.summary.p999, 4070);
}

TEST(Perftest, TheUnitOfJsonFollowsFromTheMessageRate) {
  const ForeignRun gigabits = foreign_run("perftest-24.04-gbits.json");
  ASSERT_EQ(gigabits.run.measurements.size(), 1u);
  EXPECT_DOUBLE_EQ(gigabits.run.measurements[0].summary.median, 780.12e9);
  EXPECT_EQ(gigabits.run.measurements[0].operation, "write duplex");
  EXPECT_EQ(gigabits.run.measurements[0].streams, 8);
  const ForeignRun mebibytes = foreign_run("perftest-24.04-mib.json");
  ASSERT_EQ(mebibytes.run.measurements.size(), 1u);
  EXPECT_DOUBLE_EQ(mebibytes.run.measurements[0].summary.median, 46750.5 * 1048576 * 8);
}

TEST(Perftest, ANumberWithoutAUnitIsNotRead) {
  const auto read = parse_foreign(foreign_text("perftest-24.04-no-unit.json"));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text, HasSubstr("names no unit"));
}

TEST(Perftest, ATableWithoutItsTitleOrInAnotherUnitIsNotRead) {
  const std::string row = "\n 65536      5000             1.0     1.0    0.1\n";
  const std::string names =
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]";
  const auto untitled = parse_foreign(names + row);
  ASSERT_FALSE(untitled);
  EXPECT_THAT(untitled.error().text, HasSubstr("its operation is unknown"));
  const auto other = parse_foreign(
      "RDMA_Write BW Test\n#bytes #iterations BW peak[furlongs] BW average[furlongs] MsgRate[Mpps]" + row);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().text, HasSubstr("unknown unit \"furlongs\""));
  EXPECT_TRUE(parse_foreign("RDMA_Write BW Test\n" + names + row));
}

TEST(Perftest, SeveralTestsInOneFileKeepWhatIsTheirOwn) {
  const std::string first = foreign_text("perftest-4.4-write-all.txt");
  const std::string second = foreign_text("perftest-5.5-read-gbits.txt");
  const auto read = parse_foreign(first + "\ninitializing CUDA\n" + second + first);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->run.measurements.size(), 9u);
  EXPECT_EQ(read->run.measurements[4].operation, "read, GPU memory");
  EXPECT_EQ(read->run.measurements[5].operation, "write");
  EXPECT_TRUE(same_subject(read->run.measurements[0], read->run.measurements[5]));
}

TEST(Perftest, ConnectionsAndPortsThatChangeTheThingAreNamed) {
  std::string text = foreign_text("perftest-6.20-send-duplex.txt");
  text.replace(text.find(": RC"), 4, ": UD");
  EXPECT_EQ(parse_foreign(text)->run.measurements[0].operation, "datagram duplex");
  text.replace(text.find(": UD"), 4, ": UC");
  EXPECT_EQ(parse_foreign(text)->run.measurements[0].operation, "send duplex, UC");
}

}  // namespace
}  // namespace railbed
