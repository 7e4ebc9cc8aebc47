#include "report/measurements.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

Measurement run(Engine engine, Metric metric, std::uint64_t size, double median) {
  Measurement made;
  made.engine = engine;
  made.metric = metric;
  made.rail = "rail0";
  made.from.node = "gpu01";
  made.to.node = "gpu02";
  made.message_bytes = size;
  made.summary.samples = 100;
  made.summary.median = median;
  made.summary.p99 = median * 2;
  made.summary.p999 = median * 4;
  made.summary.maximum = median * 100;
  return made;
}

Measurement bandwidth(Engine engine, std::uint64_t size, double gigabits, double limit, std::string what) {
  Measurement made = run(engine, Metric::kBandwidth, size, gigabits * 1e9);
  made.ceiling.limits = {{std::move(what), BitRate::gigabits(limit), "arithmetic"}};
  return made;
}

TEST(MeasurementsText, PutsTcpBesideRdmaAndEachBesideItsCeiling) {
  EXPECT_EQ(render_text(std::vector{
                bandwidth(Engine::kTcp, 65536, 21.5, 39.2, "wire at MTU 9000"),
                bandwidth(Engine::kRdma, 65536, 34.9, 38.5, "wire at MTU 2048"),
                bandwidth(Engine::kRdma, 1 << 20, 35.0, 38.5, "wire at MTU 2048"),
                run(Engine::kTcp, Metric::kLatency, 8, 21900),
                run(Engine::kRdma, Metric::kLatency, 8, 850),
            }),
            R"(rail0  gpu01 → gpu02
                    TCP                   RDMA
  bandwidth 64 KiB  21.5 Gb/s             34.9 Gb/s
  bandwidth 1 MiB                         35.0 Gb/s
  latency p50       21.9 µs               0.85 µs
  latency p99       43.8 µs               1.70 µs
  latency p99.9     87.6 µs               3.40 µs
  latency max       2.19 ms               85.0 µs
  TCP   21.5 Gb/s: 55 % of 39.2 Gb/s, limited by the wire at MTU 9000
  RDMA  35.0 Gb/s: 91 % of 38.5 Gb/s, limited by the wire at MTU 2048
)");
}

// A port at half its speed has half the ceiling, which it reaches; beside the other rails it is slow.
TEST(MeasurementsText, TheSlowRailIsAmongTheWorstPaths) {
  std::vector<Measurement> all;
  for (int rail = 0; rail < 8; ++rail)
    for (const bool back : {false, true}) {
      const bool slow = rail == 5;
      all.push_back(slow ? bandwidth(Engine::kRdma, 1 << 20, 195, 197, "wire at MTU 4096")
                         : bandwidth(Engine::kRdma, 1 << 20, 372, 394, "wire at MTU 4096"));
      all.back().rail = fmt::format("rail{}", rail);
      if (back) std::swap(all.back().from.node, all.back().to.node);
    }
  const std::string text = render_text(all);
  EXPECT_THAT(text, testing::StartsWith("rail5  gpu01 → gpu02\n"));
  EXPECT_THAT(text, HasSubstr("rail5  gpu02 → gpu01\n"));
}

// A rail that is slower by design does not take all places.
TEST(MeasurementsText, TheWorstPathsAreOfSeveralRails) {
  std::vector<Measurement> all;
  for (int node = 0; node < 10; ++node) {
    all.push_back(bandwidth(Engine::kTcp, 1 << 20, 23, 24, "wire at MTU 9000"));
    all.back().rail = "storage";
    all.back().to.node = fmt::format("gpu{}", node);
    all.push_back(bandwidth(Engine::kTcp, 1 << 20, node == 7 ? 300 : 380, 394, "wire at MTU 9000"));
    all.back().rail = "rail0";
    all.back().to.node = fmt::format("gpu{}", node);
  }
  EXPECT_THAT(render_text(all), HasSubstr("rail0  gpu01 → gpu7\n"));
}

TEST(MeasurementsText, ALatencyStandsBesideItsFloor) {
  Measurement measurement = run(Engine::kRdma, Metric::kLatency, 8, 850);
  measurement.floor.parts = {{"wire", Nanoseconds{15.6}, "78 bytes"}, {"a switch", Nanoseconds{190}, ""}};
  EXPECT_THAT(render_text({measurement}),
              HasSubstr("  RDMA  latency 0.85 µs: floor 0.21 µs (wire 15.6 ns + a switch 0.19 µs)\n"));
}

TEST(MeasurementsText, AllRailsAtOnceStandBesideEachAlone) {
  std::vector<Measurement> all{bandwidth(Engine::kRdma, 1 << 20, 390, 392, "wire at MTU 4096"),
                               bandwidth(Engine::kRdma, 1 << 20, 380, 392, "wire at MTU 4096")};
  all[1].rail = "rail1";
  for (const auto& [rail, gigabits] : {std::pair{"rail0", 390.0}, {"rail1", 190.0}, {"all rails", 580.0}}) {
    all.push_back(bandwidth(Engine::kRdma, 1 << 20, gigabits, 784, "sum of 2 rails"));
    all.back().rail = rail;
    all.back().operation = "all rails at once";
  }
  const std::string text = render_text(all);
  EXPECT_THAT(text, HasSubstr(R"(
all rails at once  gpu01 → gpu02
  RDMA  580 Gb/s: 75 % of 770 Gb/s that they carry alone
        74 % of 784 Gb/s, limited by the sum of 2 rails
        rail0: 390 Gb/s (alone 390 Gb/s)
        rail1: 190 Gb/s (alone 380 Gb/s)
)"));
  EXPECT_THAT(text, Not(HasSubstr("all rails  gpu01")));
}

TEST(MeasurementsText, ANominalCeilingIsNoVerdict) {
  Measurement nominal = bandwidth(Engine::kTcp, 65536, 33, 10, "veth");
  nominal.ceiling.nominal = true;
  nominal.ceiling.note = "virtual interface";
  const std::string text = render_text(std::vector{nominal});
  EXPECT_THAT(text, HasSubstr("33.0 Gb/s: ceiling nominal 10.0 Gb/s (virtual interface): shown, not judged"));
  EXPECT_THAT(text, Not(HasSubstr("%")));
}

TEST(MeasurementsText, AFailureIsSaidWithItsCauseAndRemedy) {
  Measurement failed = run(Engine::kRdma, Metric::kBandwidth, 65536, 0);
  failed.summary = {};
  failed.failure = Failure{"connect", "no answer over RDMA", "ping the peer's rail address"};
  EXPECT_EQ(render_text(std::vector{failed}), R"(rail0  gpu01 → gpu02
  RDMA  bandwidth failed: connect: no answer over RDMA
        do: ping the peer's rail address
)");
}

TEST(MeasurementsText, LossAndWrongDataAreSaid) {
  Measurement lossy = bandwidth(Engine::kRdma, 65536, 1, 10, "PCIe Gen3 x1");
  lossy.packets = 9000;
  lossy.lost = 90;
  lossy.checked_bytes = 4096;
  lossy.wrong_bytes = 12;
  lossy.counter_deltas["gpu02 rxe0/1 completer_retry_err"] = 3;
  const std::string text = render_text(std::vector{lossy});
  EXPECT_THAT(text, HasSubstr("10 % of 10.0 Gb/s, limited by PCIe Gen3 x1\n"));
  EXPECT_THAT(text, HasSubstr("        12 of 4096 bytes arrived wrong\n"));
  EXPECT_THAT(text, HasSubstr("        90 of 9000 packets sent again\n"));
  EXPECT_THAT(text, HasSubstr("        gpu02 rxe0/1 completer_retry_err +3\n"));
}

TEST(MeasurementsText, OfManyPathsTheWorstAreWrittenOut) {
  std::vector<Measurement> measurements;
  for (int i = 1; i <= 20; ++i) {
    measurements.push_back(bandwidth(Engine::kTcp, 65536, i == 17 ? 2 : 9, 10, "wire at MTU 1500"));
    measurements.back().to.node = fmt::format("n{}", i);
  }
  const std::string text = render_text(measurements);
  EXPECT_THAT(text, testing::StartsWith("rail0  gpu01 → n17\n"));
  EXPECT_THAT(text, HasSubstr("rail0: 14 more paths · TCP 9.00 Gb/s to 9.00 Gb/s\n--all shows them\n"));
  EXPECT_THAT(render_text(measurements, {.all = true}), HasSubstr("n20"));
}

TEST(MeasurementsText, NothingMeasuredIsNothingSaid) {
  EXPECT_EQ(render_text(std::vector<Measurement>{}), "");
}

TEST(MeasurementsText, TellsARootOnceForAllThatFailedOfIt) {
  std::vector<Measurement> failed;
  for (const Engine engine : {Engine::kTcp, Engine::kRdma})
    for (const Metric metric : {Metric::kBandwidth, Metric::kLatency}) {
      failed.push_back(run(engine, metric, 8, 0));
      failed.back().summary = {};
      failed.back().failure =
          Failure{"connect", "gpu02: ens6 is down; no answer", "on gpu02: ip link set ens6 up"};
      failed.back().failure->root = FailureRoot{PathLayer::kLink, "gpu02", "gpu02: ens6 is down", {}};
    }
  EXPECT_EQ(render_text(failed), R"(rail0  gpu01 → gpu02
  TCP   bandwidth failed: connect: gpu02: ens6 is down; no answer
        do: on gpu02: ip link set ens6 up
        latency failed, of the same root, above
  RDMA  bandwidth failed, of the same root, above
        latency failed, of the same root, above
)");
}

}  // namespace
}  // namespace railbed
