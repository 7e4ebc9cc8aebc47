#include "report/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/all_rails.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Ladder climbed() {
  Measurement half;
  half.summary.samples = 30;
  half.summary.median = 50e9;
  half.ceiling.limits = {{"wire, 100 Gb/s at MTU 4096", BitRate::gigabits(100), "facts"}};
  Measurement broken;
  broken.failure = Failure{"run", "no answer <b>", ""};
  Measurement slow = half;
  slow.summary.median = 25e9;
  Ladder ladder{"gpu01", "gpu02", "rail0", {}, 3};
  ladder.rungs = {
      {.kind = RungKind::kTcp, .measurement = half, .share = 0.5, .of_wire = 0.5, .causes = {"MTU 1500"}},
      {.kind = RungKind::kRdma, .measurement = broken},
      {.kind = RungKind::kRdmaGpu, .not_climbed = "gpu01 has no GPU"},
      {.kind = RungKind::kNccl,
       .measurement = slow,
       .nccl = NcclWay{"IB", "off", {"mlx5_0"}, {"mlx5_1"}, {}},
       .share = 0.25,
       .of_wire = 0.25,
       .causes = {"PCIe: narrow", "ACS"}}};
  return ladder;
}

Measurement at_once_on(const std::string& rail, double gigabits) {
  Measurement measurement;
  measurement.engine = Engine::kTcp;
  measurement.rail = rail;
  measurement.from.node = "gpu01";
  measurement.to.node = "gpu02";
  measurement.message_bytes = 256 << 10;
  measurement.operation = at_once("");
  measurement.summary.samples = 30;
  measurement.summary.median = gigabits * 1e9;
  return measurement;
}

TEST(LadderText, AllRailsAtOnceStandBesideEachAlone) {
  std::vector<Measurement> all{at_once_on("rail0", 40), at_once_on("rail1", 40)};
  for (Measurement& alone : all) alone.operation = "";
  EXPECT_EQ(at_once_text(all), "");
  for (const auto& [rail, gigabits] : {std::pair{"rail0", 20.0}, {"rail1", 40.0}, {"all rails", 60.0}})
    all.push_back(at_once_on(rail, gigabits));
  EXPECT_EQ(at_once_text(all),
            "all rails at once  gpu01 → gpu02\n"
            "  TCP   60.0 Gb/s: 75 % of 80.0 Gb/s that they carry alone\n"
            "        no ceiling computed\n"
            "        rail0: 20.0 Gb/s (alone 40.0 Gb/s)\n"
            "        rail1: 40.0 Gb/s (alone 40.0 Gb/s)\n");
}

TEST(LadderText, ARailThatFailsBesideTheOthersIsTold) {
  Measurement broken = at_once_on("rail1", 0);
  broken.summary = {};
  broken.failure = Failure{"run", "gpu02: rail1 is down", "ip link set rail1 up"};
  const std::string text = at_once_text({at_once_on("rail0", 40), broken});
  EXPECT_THAT(text, HasSubstr("TCP all rails at once bandwidth, rail1: gpu01"));
  EXPECT_THAT(text, HasSubstr("FAILED (run): gpu02: rail1 is down"));
  EXPECT_THAT(text, HasSubstr("do: ip link set rail1 up"));
}

TEST(LadderText, EveryRungHasANumberOrAReason) {
  EXPECT_EQ(ladder_text(climbed()),
            "ladder, rail0: gpu01 → gpu02\n"
            "  TCP                ████████████░░░░░░░░░░░░  50.0 Gb/s   50 % of wire, 100 Gb/s at MTU 4096\n"
            "  RDMA, host memory  FAILED: no answer <b>\n"
            "  RDMA, GPU memory   not climbed: gpu01 has no GPU\n"
            "  NCCL all_reduce    ██████░░░░░░░░░░░░░░░░░░  25.0 Gb/s   25 % of wire, 100 Gb/s at MTU 4096\n"
            "                     over IB, mlx5_0 → mlx5_1, GPUDirect off\n"
            "  NCCL all_reduce loses most, 25 % of the wire is left\n"
            "    likely: PCIe: narrow\n"
            "        or: ACS\n"
            "  TCP, 50 % of the wire is left: MTU 1500\n");
}

TEST(LadderText, ARungThatOnlyConnectsHasNoBandwidth) {
  Ladder ladder = climbed();
  Measurement connected;
  connected.engine = Engine::kRdmaCm;
  connected.metric = Metric::kLatency;
  connected.message_bytes = 4096;
  connected.summary.samples = 200;
  connected.summary.median = 5000;
  connected.checked_bytes = 200 * 4096;
  ladder.rungs.insert(ladder.rungs.begin() + 1, {.kind = RungKind::kRdmaCm, .measurement = connected});
  const std::string text = ladder_text(ladder);
  EXPECT_THAT(text, HasSubstr("  RDMA-CM            connects: half a round trip of 4 KiB takes 5.00 µs, "));
  connected.failure = Failure{"connect", "rdma_create_event_channel: No such device (ENODEV)", ""};
  ladder.rungs[1].measurement = connected;
  EXPECT_THAT(ladder_text(ladder), HasSubstr("  RDMA-CM            FAILED: rdma_create_event_channel: "));
}

TEST(LadderText, ARootOfSeveralRungsIsToldOnce) {
  Ladder ladder = climbed();
  Measurement broken;
  broken.failure = Failure{"connect", "gpu02: ib0 is down; no answer", "ip link set ib0 up"};
  broken.failure->root = FailureRoot{PathLayer::kLink, "gpu02", "gpu02: ib0 is down", {}};
  for (Rung& rung : ladder.rungs) rung = {.kind = rung.kind, .measurement = broken};
  const std::string text = ladder_text(ladder);
  EXPECT_THAT(text, HasSubstr("TCP                FAILED: gpu02: ib0 is down; no answer\n"));
  EXPECT_THAT(text, HasSubstr("RDMA, host memory  FAILED, of the same root, above\n"));
  EXPECT_EQ(text.find("is down"), text.rfind("is down")) << text;
}

TEST(LadderText, SaysWhenNothingLosesOrNothingCanBeJudged) {
  Ladder ladder = climbed();
  ladder.loser = -1;
  EXPECT_THAT(ladder_text(ladder), HasSubstr("no rung loses: what the wire carries arrives"));
  for (Rung& rung : ladder.rungs) rung.of_wire.reset();
  EXPECT_THAT(ladder_text(ladder), HasSubstr("no limit is known that binds"));
  ladder.rungs.resize(3);
  EXPECT_THAT(ladder_text(ladder), HasSubstr("nothing to compare it with"));
}

TEST(LadderText, WhatNodesSayReachesNoTerminal) {
  Ladder ladder = climbed();
  ladder.rungs[2].not_climbed = "\033[31mred";
  EXPECT_THAT(ladder_text(ladder), Not(HasSubstr("\033")));
}

TEST(LaddersSvg, IsOneDocumentAndEscapes) {
  const std::string svg = ladders_svg({climbed(), climbed()});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("25.0 Gb/s, 25 % loses most"));
  EXPECT_THAT(svg, HasSubstr("gpu01 has no GPU"));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
}

}  // namespace
}  // namespace railbed
