#include "report/text/bench_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Measurement bandwidth() {
  Measurement one;
  one.engine = Engine::kRdma;
  one.operation = "write";
  one.rail = "rail0";
  one.from = {"gpu01", "ens6", "mlx5_0/1", "10.0.0.1", 3};
  one.to = {"gpu02", "ens6", "mlx5_0/1", "10.0.0.2", 3};
  one.message_bytes = 65536;
  one.mtu = 4096;
  one.summary.samples = 30;
  one.summary.median = 49e9;
  one.summary.low = 48.51e9;
  one.summary.high = 49.49e9;
  one.checked_bytes = 1 << 20;
  one.ceiling.limits = {{"wire, 100 Gb/s at MTU 4096", BitRate::gigabits(98), "rate × 0.98"}};
  return one;
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
  Measurement one = bandwidth();
  one.operation = one.rail = evil;
  one.from = {evil, evil, evil, evil, 3};
  one.to = one.from;
  one.ceiling.limits[0].name = one.ceiling.limits[0].source = one.ceiling.note = evil;
  one.counter_deltas[evil] = 7;
  one.failure = Failure{evil, evil, evil};
  const std::string text = bench_table({one});
  EXPECT_THAT(text, HasSubstr("owned"));
  EXPECT_EQ(text.find_first_of("\033\007"), std::string::npos);
  EXPECT_THAT(text, Not(HasSubstr("\ny")));
}

TEST(BenchTable, NominalCeilingIsNotAShare) {
  Measurement one = bandwidth();
  one.ceiling.nominal = true;
  one.ceiling.note = "ens6 of gpu02 is virtual";
  const std::string text = bench_table({one});
  EXPECT_THAT(text, HasSubstr("nominal"));
  EXPECT_THAT(text, Not(HasSubstr("50 %")));
  EXPECT_THAT(text, HasSubstr("ens6 of gpu02 is virtual"));
}

TEST(BenchTable, FailureSaysCauseAndRemedy) {
  Measurement one = bandwidth();
  one.summary = {};
  one.failure = Failure{"run", "gpu02: ens6 is down", "ip link set ens6 up"};
  const std::string text = bench_table({one});
  EXPECT_THAT(text, HasSubstr("64 KiB FAILED (run): gpu02: ens6 is down"));
  EXPECT_THAT(text, HasSubstr("do: ip link set ens6 up"));
  EXPECT_THAT(text, Not(HasSubstr("data checked")));
}

TEST(BenchTable, LatencyShowsItsTail) {
  Measurement one = bandwidth();
  one.metric = Metric::kLatency;
  one.summary.median = 850;
  one.summary.p9999 = 12'300;
  const std::string text = bench_table({bandwidth(), one});
  EXPECT_THAT(text, HasSubstr("latency (half a round trip)"));
  EXPECT_THAT(text, HasSubstr("0.85 µs"));
  EXPECT_THAT(text, HasSubstr("12.3 µs"));
}

TEST(BenchTable, ALatencyStandsBesideItsFloor) {
  Measurement one = bandwidth();
  one.metric = Metric::kLatency;
  one.message_bytes = 8;
  one.summary.median = 850;
  EXPECT_THAT(bench_table({one}), Not(HasSubstr("floor")));  // of a run from before there were floors
  one.floor.note = "ens6 of gpu02 is virtual (veth): the speed that it reports is not physical";
  EXPECT_THAT(bench_table({one}), HasSubstr("  no floor: ens6 of gpu02 is virtual (veth)"));
  one.floor = {
      {{"wire", Nanoseconds{15.6}, "78 bytes"}, {"a switch", Nanoseconds{190}, "the lowest published"}},
      "not in it: cable"};
  EXPECT_THAT(bench_table({one}), HasSubstr("  floor of 8 B 0.21 µs\n"
                                            "    wire: 15.6 ns = 78 bytes\n"
                                            "    a switch: 0.19 µs = the lowest published\n"
                                            "    not in it: cable\n"));
}

TEST(BenchTable, TellsARootOnceAndWhatWasSeen) {
  Measurement one = bandwidth();
  one.summary = {};
  one.failure = Failure{"connect", "gpu02: ens6 is down; no answer", "on gpu02: ip link set ens6 up"};
  one.failure->root = FailureRoot{PathLayer::kLink, "gpu02", "gpu02: ens6 is down", {"gpu02: ens6 down"}};
  Measurement back = one;  // the other way, of another engine
  std::swap(back.from, back.to);
  back.engine = Engine::kTcp;
  const std::string text = bench_table({one, back});
  EXPECT_THAT(
      text,
      HasSubstr("FAILED (connect): gpu02: ens6 is down; no answer\n    do: on gpu02: ip link set ens6 up\n"
                "    seen: gpu02: ens6 down\n"));
  EXPECT_THAT(text, HasSubstr("FAILED (connect), of the same root, above\n"));
  EXPECT_EQ(text.find("is down; no answer"), text.rfind("is down; no answer"));
}

}  // namespace
}  // namespace railbed
