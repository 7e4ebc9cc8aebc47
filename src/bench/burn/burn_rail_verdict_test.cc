#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/burn/burn_verdict.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kWire = 12.5e9;  // B/s

// A rail of so many nodes, whose ports all send and receive 96 % of the wire.
BurnReport sound_rails(int nodes) {
  BurnReport report;
  report.rails.emplace().bytes = 1 << 30;
  for (int i = 0; i < nodes; ++i) {
    report.nodes.push_back({.node = "gpu" + std::to_string(i)});
    BurnPort port;
    port.rail = "rail0";
    port.node = report.nodes.back().node;
    port.interface = "ens6";
    port.engine = "rdma";
    port.turns = 40;
    port.sent = kWire * (0.96 + 0.001 * (i % 3));
    port.received = kWire * (0.96 + 0.001 * ((i + 1) % 3));
    port.ceiling = kWire;
    port.ceiling_name = "wire, 100 Gb/s";
    port.packets = 1'000'000'000;
    report.rails->ports.push_back(port);
  }
  return report;
}

void add_fault(BurnReport& report, std::string from, std::string to, bool wrong, double at = 12) {
  report.rails->faults.push_back({.at = at,
                                  .rail = "rail0",
                                  .from = std::move(from),
                                  .to = std::move(to),
                                  .wrong = wrong,
                                  .cause = wrong ? "64 bytes differ" : "no answer"});
  ++report.rails->fault_count;
}

std::vector<std::string> judged(BurnReport& report) {
  judge_burn(report);
  std::vector<std::string> all;
  for (const BurnFinding& finding : report.findings) all.push_back(finding.what);
  return all;
}

TEST(BurnRailVerdict, SoundRailsHaveNoFinding) {
  BurnReport report = sound_rails(8);
  EXPECT_THAT(judged(report), IsEmpty());
  EXPECT_EQ(burn_exit_code(report), 0);
  ASSERT_EQ(report.rails->families.size(), 2U);  // received, sent
  EXPECT_EQ(report.rails->families[0].ports, 8);
  EXPECT_NEAR(report.rails->families[0].median, 0.961 * kWire, 1e7);
}

TEST(BurnRailVerdict, WrongDataOfOnePairHasTwoEnds) {
  BurnReport report = sound_rails(4);
  add_fault(report, "gpu1", "gpu2", true);
  add_fault(report, "gpu2", "gpu1", true, 30);
  EXPECT_THAT(judged(report), ElementsAre("wrong-rail-data"));
  EXPECT_EQ(report.findings[0].status, BurnStatus::kFailure);
  EXPECT_EQ(report.findings[0].node, "");
  EXPECT_EQ(
      report.findings[0].message,
      "rail0 delivered wrong data between gpu1 and gpu2, 2 times; first after 12 s, gpu1 to gpu2: 64 bytes differ");
}

TEST(BurnRailVerdict, NamesTheNodeThatAllPairsHaveInCommon) {
  BurnReport report = sound_rails(4);
  for (const char* other : {"gpu0", "gpu1", "gpu3"}) add_fault(report, other, "gpu2", false);
  EXPECT_THAT(judged(report), ElementsAre("rail-failed"));
  EXPECT_EQ(report.findings[0].node, "gpu2");
  EXPECT_THAT(report.findings[0].message, HasSubstr("failed between gpu2 and 3 other nodes, 3 times"));
  add_fault(report, "gpu0", "gpu1", false);
  judged(report);
  EXPECT_EQ(report.findings[0].node, "");
  EXPECT_THAT(report.findings[0].message, HasSubstr("between 4 pairs of nodes, first gpu0 and gpu1"));
}

TEST(BurnRailVerdict, ARailIsNotBlamedForANodeThatWasLost) {
  BurnReport report = sound_rails(4);
  report.nodes[2].lost = true;
  add_fault(report, "gpu1", "gpu2", false);
  EXPECT_THAT(judged(report), ElementsAre("lost"));
  add_fault(report, "gpu1", "gpu2", true);  // wrong data came before
  EXPECT_THAT(judged(report), ElementsAre("lost", "wrong-rail-data"));
}

TEST(BurnRailVerdict, ASlowDirectionOfOnePortIsNamed) {
  BurnReport report = sound_rails(8);
  report.rails->ports[3].received = 0.5 * kWire;
  EXPECT_THAT(judged(report), ElementsAre("rail-slow"));
  EXPECT_EQ(report.findings[0].status, BurnStatus::kFailure);
  EXPECT_EQ(report.findings[0].node, "gpu3");
  EXPECT_THAT(report.findings[0].message,
              HasSubstr("ens6 of gpu3 (rail0) received 48 % less than the median of 7 siblings"));
}

TEST(BurnRailVerdict, PortsOfAnotherSpeedAreNoSiblings) {
  BurnReport report = sound_rails(4);
  for (int i : {1, 2}) {
    BurnPort& port = report.rails->ports[static_cast<std::size_t>(i)];
    port.ceiling /= 4;
    port.sent /= 4;
    port.received /= 4;
  }
  EXPECT_THAT(judged(report), IsEmpty());
}

// The rate of TCP is that of the processors, and a virtual device has no known limit.
TEST(BurnRailVerdict, RatesWithoutALimitOfThePathAreNotJudged) {
  BurnReport report = sound_rails(4);
  for (BurnPort& port : report.rails->ports) port.engine = "tcp";
  report.rails->ports[1].sent /= 3;
  EXPECT_THAT(judged(report), IsEmpty());
  EXPECT_EQ(rail_tests(report), 0);
  for (BurnPort& port : report.rails->ports) {
    port.engine = "rdma";
    port.ceiling = 0;
  }
  EXPECT_THAT(judged(report), IsEmpty());
}

TEST(BurnRailVerdict, AllBelowHalfOfTheirCeilingIsAWarning) {
  BurnReport report = sound_rails(4);
  for (BurnPort& port : report.rails->ports) port.sent = 0.4 * kWire;
  EXPECT_THAT(judged(report), ElementsAre("rail-below-ceiling"));
  EXPECT_THAT(report.findings[0].message,
              HasSubstr("half of 4 ports sent less than 40 % of their ceiling, wire, 100 Gb/s"));
}

TEST(BurnRailVerdict, LossesCountByTheirShare) {
  BurnReport report = sound_rails(4);
  BurnPort& port = report.rails->ports[1];
  port.lost = 500;  // of a billion
  EXPECT_THAT(judged(report), IsEmpty());
  port.lost = 5'000;
  port.counters = {{"mlx5_0/1 out_of_sequence", 17}};
  EXPECT_THAT(judged(report), ElementsAre("rail-losses"));
  EXPECT_EQ(report.findings[0].status, BurnStatus::kWarning);
  EXPECT_THAT(report.findings[0].message, HasSubstr("mlx5_0/1 out_of_sequence +17"));
  port.lost = 500'000;
  judged(report);
  EXPECT_EQ(report.findings[0].status, BurnStatus::kFailure);
  port.engine = "tcp";
  EXPECT_THAT(judged(report), IsEmpty());
}

TEST(BurnRailVerdict, APortThatWasNotLoadedIsUnknown) {
  BurnReport report = sound_rails(4);
  report.rails->ports[0].skipped = "gpu0: no route to host";
  report.rails->ports[1].turns = 0;
  EXPECT_THAT(judged(report), ElementsAre("not-run", "not-run"));
  for (const BurnFinding& finding : report.findings) EXPECT_EQ(finding.status, BurnStatus::kUnknown);
  EXPECT_EQ(burn_exit_code(report), 3);
}

}  // namespace
}  // namespace railbed
