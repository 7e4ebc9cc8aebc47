#include <gtest/gtest.h>

#include <algorithm>

#include "verify/verify.h"

namespace railbed {
namespace {

Measurement number(Engine engine, Metric metric, const char* rail, const char* from, const char* to,
                   double median) {
  Measurement measurement;
  measurement.engine = engine;
  measurement.metric = metric;
  measurement.rail = rail;
  measurement.from.node = from;
  measurement.to.node = to;
  measurement.message_bytes = 8;
  measurement.summary.samples = 20;
  measurement.summary.median = median;
  measurement.summary.low = median * 0.98;
  measurement.summary.high = median * 1.02;
  measurement.ceiling.nominal = true;
  return measurement;
}

Measurement tcp(const char* from, const char* to, double median) {
  return number(Engine::kTcp, Metric::kBandwidth, "rail0", from, to, median);
}
Measurement ping_on(const char* rail, double nanoseconds) {
  return number(Engine::kPing, Metric::kLatency, rail, "a", "b", nanoseconds);
}

// Returns the rule's only finding.
Finding finding_of(std::vector<Measurement> measurements, std::string_view rule) {
  Evidence evidence;
  evidence.measurements = std::move(measurements);
  const Verdict verdict = verify(evidence);
  std::vector<Finding> found;
  for (const Finding& finding : verdict.findings)
    if (finding.rule == rule) found.push_back(finding);
  EXPECT_EQ(found.size(), 1U) << rule;
  return found.empty() ? Finding{} : found.front();
}

Endpoint busy(const char* node, double processors) {
  Endpoint end;
  end.node = node;
  end.other_work = OtherWork{2, processors, "python3 (pid 4711)"};
  return end;
}

TEST(BothWays, OneFindingALinkNamesTheSlowSender) {
  const Finding finding = finding_of({tcp("a", "b", 200e6), tcp("b", "a", 10e6)}, "measured.both-ways");
  EXPECT_EQ(finding.status, Status::kFail);
  EXPECT_EQ(finding.message, "TCP from b to a on rail0 carries 10.0 Mb/s, 5 % of the 200 Mb/s the other way");
}

TEST(BothWays, OfProcessorsMayDifferByATwo) {
  EXPECT_EQ(finding_of({tcp("a", "b", 200e6), tcp("b", "a", 110e6)}, "measured.both-ways").status,
            Status::kPass);
  EXPECT_EQ(finding_of({tcp("a", "b", 200e6), tcp("b", "a", 80e6)}, "measured.both-ways").status,
            Status::kWarn);
}

TEST(BothWays, OfAnAdapterMayNot) {
  Measurement forth = tcp("a", "b", 98e9);
  Measurement back = tcp("b", "a", 74e9);
  for (Measurement* measurement : {&forth, &back}) {
    measurement->engine = Engine::kRdma;
    measurement->ceiling.nominal = false;
  }
  EXPECT_EQ(finding_of({forth, back}, "measured.both-ways").status, Status::kWarn);
}

TEST(BothWays, CannotBeToldWhereTheRunVariesOrANodeIsBusy) {
  Measurement wild = tcp("b", "a", 80e6);
  wild.summary.high = 190e6;
  EXPECT_EQ(finding_of({tcp("a", "b", 200e6), wild}, "measured.both-ways").status, Status::kUnknown);
  Measurement slow = tcp("b", "a", 80e6);
  slow.from = busy("b", 1.0);
  const Finding told = finding_of({tcp("a", "b", 200e6), slow}, "measured.both-ways");
  EXPECT_EQ(told.status, Status::kUnknown);
  EXPECT_NE(told.message.find("python3 (pid 4711)"), std::string::npos) << told.message;
  slow.summary = tcp("b", "a", 10e6).summary;  // no other work does that
  EXPECT_EQ(finding_of({tcp("a", "b", 200e6), slow}, "measured.both-ways").status, Status::kFail);
}

TEST(BothWays, CannotBeToldWhereOtherTrafficMayBeAllThatIsMissing) {
  Measurement slow = tcp("b", "a", 10e6);
  slow.from.other_traffic = OtherTraffic{1, 200'000'000 / 8, 0, {}};
  const Finding told = finding_of({tcp("a", "b", 200e6), slow}, "measured.both-ways");
  EXPECT_EQ(told.status, Status::kUnknown);
  EXPECT_NE(told.message.find("of other traffic"), std::string::npos) << told.message;
  slow.from.other_traffic = OtherTraffic{1, 20'000'000 / 8, 0, {}};
  EXPECT_EQ(finding_of({tcp("a", "b", 200e6), slow}, "measured.both-ways").status, Status::kFail);
}

// A write of 60 of 98 Gb/s.
TEST(Bandwidth, CannotBeToldWhereOtherTrafficMayBeAllThatIsMissing) {
  Measurement write = tcp("a", "b", 60e9);
  write.engine = Engine::kRdma;
  write.operation = "write";
  write.message_bytes = 1 << 20;
  write.streams = 2;
  write.mtu = 4096;
  write.ceiling.nominal = false;
  write.ceiling.limits = {{"wire, 100 Gb/s at MTU 4096", BitRate::gigabits(98), "test"}};
  EXPECT_EQ(finding_of({write}, "measured.bandwidth").status, Status::kFail);
  write.to.other_traffic = OtherTraffic{1, 0, 40'000'000'000 / 8, {}};
  EXPECT_EQ(finding_of({write}, "measured.bandwidth").status, Status::kUnknown);
  write.to.other_traffic = OtherTraffic{1, 0, 5'000'000'000 / 8, {}};
  EXPECT_EQ(finding_of({write}, "measured.bandwidth").status, Status::kFail);
  write.to.other_traffic = OtherTraffic{1, 40'000'000'000 / 8, 0, {}};
  EXPECT_EQ(finding_of({write}, "measured.bandwidth").status, Status::kFail) << "it went the other way";
}

TEST(BothWays, OneWayAloneIsNotJudged) {
  EXPECT_EQ(finding_of({tcp("a", "b", 200e6)}, "measured.both-ways").status, Status::kNotApplicable);
}

TEST(Latency, IsHeldAgainstPingOverTheManagementNetwork) {
  const auto status = [](double rail, double management) {
    return finding_of({ping_on("rail0", rail), ping_on("management network", management)}, "measured.latency")
        .status;
  };
  EXPECT_EQ(status(12e6, 0.2e6), Status::kFail);
  EXPECT_EQ(status(1e6, 0.2e6), Status::kWarn);
  EXPECT_EQ(status(0.3e6, 0.2e6), Status::kPass);
  EXPECT_EQ(status(0.12e6, 0.01e6), Status::kPass) << "waking a processor takes as long";
}

TEST(Latency, WithNothingToHoldItAgainstIsNotJudged) {
  EXPECT_EQ(finding_of({ping_on("rail0", 12e6)}, "measured.latency").status, Status::kNotApplicable);
}

TEST(NodeBusy, IsSaidFromATenthOfTheProcessorsOn) {
  for (const auto& [processors, status] : {std::pair{0.3, Status::kWarn}, std::pair{0.1, Status::kPass}}) {
    Measurement measurement = tcp("a", "b", 1e9);
    measurement.from = busy("a", processors);
    EXPECT_EQ(finding_of({measurement}, "measured.node-busy").status, status);
  }
}

// Firewalls drop pings; the path is not at fault.
TEST(Ping, ThatNobodyAnswersIsNoFailure) {
  Measurement measurement = ping_on("rail0", 0);
  measurement.summary = {};
  measurement.failure = Failure{"run", "no answer", ""};
  EXPECT_EQ(finding_of({measurement}, "measured.failed").status, Status::kNotApplicable);
}

}  // namespace
}  // namespace railbed
