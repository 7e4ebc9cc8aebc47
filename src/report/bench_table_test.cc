#include "report/bench_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Measurement bandwidth() {
  Measurement measurement;
  measurement.engine = Engine::kRdma;
  measurement.operation = "write";
  measurement.rail = "rail0";
  measurement.from = {"gpu01", "ens6", "mlx5_0/1", "10.0.0.1", 3};
  measurement.to = {"gpu02", "ens6", "mlx5_0/1", "10.0.0.2", 3};
  measurement.message_bytes = 65536;
  measurement.mtu = 4096;
  measurement.summary.samples = 30;
  measurement.summary.median = 49e9;
  measurement.summary.low = 48.51e9;
  measurement.summary.high = 49.49e9;
  measurement.checked_bytes = 1 << 20;
  measurement.ceiling.limits = {{"wire, 100 Gb/s at MTU 4096", BitRate::gigabits(98), "rate × 0.98"}};
  return measurement;
}

TEST(BenchTable, NumberStandsBesideItsCeilingAndHowItWasComputed) {
  const std::string text = bench_table({bandwidth()});
  EXPECT_THAT(text, HasSubstr("RDMA write bandwidth, rail0: gpu01 ens6 mlx5_0/1 10.0.0.1 (GID 3) → gpu02"));
  EXPECT_THAT(text, HasSubstr("49.0 Gb/s"));
  EXPECT_THAT(text, HasSubstr("±1.0 %"));
  EXPECT_THAT(text, HasSubstr("50 %"));
  EXPECT_THAT(text, HasSubstr("ceiling 98.0 Gb/s: wire, 100 Gb/s at MTU 4096 = rate × 0.98"));
  EXPECT_THAT(text, HasSubstr("data checked: 1 MiB"));
}

// A measurement may come from a file, or from a node that is not what it was.
TEST(BenchTable, NothingFromANodeReachesTheTerminalAsItIs) {
  const std::string evil = "x\033]0;owned\007\ny";
  Measurement measurement = bandwidth();
  measurement.operation = measurement.rail = evil;
  measurement.from = {evil, evil, evil, evil, 3};
  measurement.to = measurement.from;
  measurement.ceiling.limits[0].name = measurement.ceiling.limits[0].source = measurement.ceiling.note = evil;
  measurement.counter_deltas[evil] = 7;
  measurement.failure = Failure{evil, evil, evil};
  const std::string text = bench_table({measurement});
  EXPECT_THAT(text, HasSubstr("owned"));
  EXPECT_EQ(text.find_first_of("\033\007"), std::string::npos);
  EXPECT_THAT(text, Not(HasSubstr("\ny")));
}

TEST(BenchTable, NominalCeilingIsNotAShare) {
  Measurement measurement = bandwidth();
  measurement.ceiling.nominal = true;
  measurement.ceiling.note = "ens6 of gpu02 is virtual";
  const std::string text = bench_table({measurement});
  EXPECT_THAT(text, HasSubstr("nominal"));
  EXPECT_THAT(text, Not(HasSubstr("50 %")));
  EXPECT_THAT(text, HasSubstr("ens6 of gpu02 is virtual"));
}

TEST(BenchTable, FailureSaysCauseAndRemedy) {
  Measurement measurement = bandwidth();
  measurement.summary = {};
  measurement.failure = Failure{"run", "gpu02: ens6 is down", "ip link set ens6 up"};
  const std::string text = bench_table({measurement});
  EXPECT_THAT(text, HasSubstr("64 KiB FAILED (run): gpu02: ens6 is down"));
  EXPECT_THAT(text, HasSubstr("do: ip link set ens6 up"));
  EXPECT_THAT(text, Not(HasSubstr("data checked")));
}

TEST(BenchTable, LatencyShowsItsTail) {
  Measurement measurement = bandwidth();
  measurement.metric = Metric::kLatency;
  measurement.summary.median = 850;
  measurement.summary.p9999 = 12'300;
  const std::string text = bench_table({bandwidth(), measurement});
  EXPECT_THAT(text, HasSubstr("latency (half a round trip)"));
  EXPECT_THAT(text, HasSubstr("0.85 µs"));
  EXPECT_THAT(text, HasSubstr("12.3 µs"));
}

TEST(BenchTable, ALatencyStandsBesideItsFloor) {
  Measurement measurement = bandwidth();
  measurement.metric = Metric::kLatency;
  measurement.message_bytes = 8;
  measurement.summary.median = 850;
  EXPECT_THAT(bench_table({measurement}), Not(HasSubstr("floor")));  // of a run from before there were floors
  measurement.floor.note = "ens6 of gpu02 is virtual (veth): the speed that it reports is not physical";
  EXPECT_THAT(bench_table({measurement}), HasSubstr("  no floor: ens6 of gpu02 is virtual (veth)"));
  measurement.floor = {
      {{"wire", Nanoseconds{15.6}, "78 bytes"}, {"a switch", Nanoseconds{190}, "the lowest published"}},
      "not in it: cable"};
  EXPECT_THAT(bench_table({measurement}), HasSubstr("  floor of 8 B 0.21 µs\n"
                                                    "    wire: 15.6 ns = 78 bytes\n"
                                                    "    a switch: 0.19 µs = the lowest published\n"
                                                    "    not in it: cable\n"));
}

TEST(BenchTable, TellsARootOnceAndWhatWasSeen) {
  Measurement measurement = bandwidth();
  measurement.summary = {};
  measurement.failure = Failure{"connect", "gpu02: ens6 is down; no answer", "on gpu02: ip link set ens6 up"};
  measurement.failure->root =
      FailureRoot{PathLayer::kLink, "gpu02", "gpu02: ens6 is down", {"gpu02: ens6 down"}};
  Measurement back = measurement;  // the other way, of another engine
  std::swap(back.from, back.to);
  back.engine = Engine::kTcp;
  const std::string text = bench_table({measurement, back});
  EXPECT_THAT(
      text,
      HasSubstr("FAILED (connect): gpu02: ens6 is down; no answer\n    do: on gpu02: ip link set ens6 up\n"
                "    seen: gpu02: ens6 down\n"));
  EXPECT_THAT(text, HasSubstr("FAILED (connect), of the same root, above\n"));
  EXPECT_EQ(text.find("is down; no answer"), text.rfind("is down; no answer"));
}

}  // namespace
}  // namespace railbed
