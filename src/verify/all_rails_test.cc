#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/all_rails.h"
#include "verify/verify.h"

namespace railbed {
namespace {

using testing::HasSubstr;

Measurement number(Engine engine, const std::string& rail, double gigabits) {
  Measurement measurement;
  measurement.engine = engine;
  measurement.rail = rail;
  for (auto [end, node] : {std::pair{&measurement.from, "a"}, std::pair{&measurement.to, "b"}}) {
    end->node = node;
    end->interface = rail;
    end->other_work = OtherWork{64, 0, ""};
  }
  measurement.message_bytes = 1 << 20;
  measurement.summary.samples = 20;
  measurement.summary.median = gigabits * 1e9;
  measurement.summary.low = measurement.summary.median * 0.98;
  measurement.summary.high = measurement.summary.median * 1.02;
  return measurement;
}

Limit limit_of(double gigabits) { return {"sum of 2 rails", BitRate::gigabits(gigabits), "arithmetic"}; }

// Two rails that carry `alone` each, and `total` at once.
std::vector<Measurement> measured(Engine engine, double alone, double total, double ceiling) {
  std::vector<Measurement> all;
  for (const char* rail : {"rail0", "rail1"}) {
    all.push_back(number(engine, rail, alone));
    all.push_back(number(engine, rail, total / 2));
    all.back().operation = at_once("");
  }
  all.push_back(number(engine, std::string(kAllRails), total));
  all.back().operation = at_once("");
  all.back().ceiling.limits = {limit_of(ceiling)};
  return all;
}

Finding finding_of(std::vector<Measurement> measurements, const Cluster& cluster = {}) {
  Evidence evidence;
  evidence.cluster = cluster;
  evidence.measurements = std::move(measurements);
  std::vector<Finding> found;
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == "measured.all-rails") found.push_back(finding);
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? Finding{} : found.front();
}

TEST(AllRails, HalfOfTheirSumIsNotKnownToBeALossWhereOthersTookTheRest) {
  auto all = measured(Engine::kRdma, 390, 400, 784);
  all.back().from.other_traffic = OtherTraffic{1, 300'000'000'000 / 8, 0, {}};
  EXPECT_EQ(finding_of(all).status, Status::kUnknown);
  all.back().from.other_traffic = OtherTraffic{1, 100'000'000'000 / 8, 0, {}};
  EXPECT_EQ(finding_of(all).status, Status::kFail);
}

TEST(AllRails, HalfOfTheirSumIsAFailure) {
  const Finding half = finding_of(measured(Engine::kRdma, 390, 400, 784));
  EXPECT_EQ(half.status, Status::kFail);
  EXPECT_EQ(
      half.message,
      "2 rails from a to b carry 400 Gb/s at once, 51 % of the 780 Gb/s that is the sum of what each carries "
      "alone");
  EXPECT_THAT(half.observed, HasSubstr("rail0 200 Gb/s of 390 Gb/s alone"));
  EXPECT_EQ(finding_of(measured(Engine::kRdma, 390, 560, 784)).status, Status::kWarn);
  EXPECT_EQ(finding_of(measured(Engine::kRdma, 390, 770, 784)).status, Status::kPass);
}

TEST(AllRails, WhatTheirSharedSlotAllowsIsAllThereCanBe) {
  EXPECT_EQ(finding_of(measured(Engine::kRdma, 38, 55, 57)).status, Status::kPass);
  EXPECT_EQ(finding_of(measured(Engine::kRdma, 38, 30, 57)).status, Status::kFail);
}

TEST(AllRails, ProcessorsBoundTcpAndVirtualLinks) {
  auto tcp = measured(Engine::kTcp, 30, 20, 784);
  tcp.back().cpu_seconds_per_gigabyte = 0.5;  // 1.25 of 128
  EXPECT_EQ(finding_of(tcp).status, Status::kWarn);
  EXPECT_EQ(finding_of(measured(Engine::kTcp, 30, 31, 784)).status, Status::kPass);
  tcp.back().from.other_work = tcp.back().to.other_work = OtherWork{2, 0, ""};
  EXPECT_EQ(finding_of(tcp).status, Status::kUnknown);
  tcp.back().from.other_work.reset();
  EXPECT_EQ(finding_of(tcp).status, Status::kUnknown);
  tcp.back().ceiling.nominal = true;
  EXPECT_EQ(finding_of(tcp).status, Status::kNotApplicable);
}

TEST(AllRails, SoftwareRdmaIsNotJudged) {
  Cluster cluster;
  for (const char* name : {"rail0", "rail1"}) {
    cluster.rails.emplace_back().name = name;
    cluster.rails.back().rdma_driver = "rxe";
  }
  EXPECT_EQ(finding_of(measured(Engine::kRdma, 3, 2, 20), cluster).status, Status::kNotApplicable);
}

TEST(AllRails, CannotBeToldOfABusyNodeOrARunThatVaries) {
  auto all = measured(Engine::kRdma, 390, 560, 784);
  all.back().summary.high = 700e9;
  EXPECT_EQ(finding_of(all).status, Status::kUnknown);
  all = measured(Engine::kRdma, 390, 560, 784);
  all.back().from.other_work = OtherWork{64, 30, "python3 (pid 4711)"};
  EXPECT_EQ(finding_of(all).status, Status::kUnknown);
}

TEST(AllRails, PartsAreNoLinksOfTheirOwn) {
  Evidence evidence;
  evidence.measurements = measured(Engine::kRdma, 390, 400, 784);
  for (Measurement& measurement : evidence.measurements)
    if (measurement.ceiling.limits.empty())
      measurement.ceiling.limits = {{"wire", BitRate::gigabits(392), "sysfs"}};
  for (const Finding& finding : verify(evidence).findings)
    EXPECT_TRUE(finding.status != Status::kFail || finding.rule == "measured.all-rails")
        << finding.rule << finding.message;
}

}  // namespace
}  // namespace railbed
