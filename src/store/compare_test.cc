#include "store/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace railbed {
namespace {

Measurement bandwidth(double gigabits, const std::string& rail = "rail0") {
  Measurement measurement;
  measurement.engine = Engine::kRdma;
  measurement.rail = rail;
  measurement.from.node = "gpu01";
  measurement.to.node = "gpu02";
  measurement.message_bytes = 65536;
  measurement.summary.samples = 30;
  measurement.summary.median = gigabits * 1e9;
  measurement.summary.low = measurement.summary.median * 0.99;
  measurement.summary.high = measurement.summary.median * 1.01;
  return measurement;
}

Measurement latency(double microseconds) {
  Measurement measurement = bandwidth(1);
  measurement.metric = Metric::kLatency;
  measurement.summary.median = microseconds * 1e3;
  return measurement;
}

BenchRun run_of(std::vector<Measurement> measurements) {
  BenchRun run;
  run.measurements = std::move(measurements);
  return run;
}

constexpr const char* kDays[] = {"2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z", "2026-01-03T10:00:00Z",
                                 "2026-01-04T10:00:00Z", "2026-01-05T10:00:00Z", "2026-01-06T10:00:00Z",
                                 "2026-01-07T10:00:00Z", "2026-01-08T10:00:00Z"};

BenchRun at(std::size_t day, std::vector<Measurement> measurements) {
  BenchRun run = run_of(std::move(measurements));
  run.id = static_cast<std::int64_t>(day) + 1;
  run.started_at = kDays[day];
  return run;
}

// Six earlier sittings of a quiet system, whose numbers differ by 0.1 %.
std::vector<BenchRun> quiet(Measurement (*number)(double), double value) {
  std::vector<BenchRun> runs;
  for (std::size_t day = 0; day < 6; ++day) {
    const double now = value * (day % 2 == 0 ? 1.001 : 1);
    runs.push_back(at(day, {number(now), number(now * 1.001), number(now * 0.999)}));
  }
  return runs;
}

Measurement rail0(double gigabits) { return bandwidth(gigabits); }

CompareResult compare_one(std::vector<Measurement> a, std::vector<Measurement> b,
                          const std::vector<BenchRun>& earlier = {}) {
  return compare({at(6, std::move(a))}, {at(7, std::move(b))}, earlier);
}

TEST(Compare, AnImprovementPasses) {
  const std::vector<Measurement> slow = {bandwidth(30), bandwidth(30.1), bandwidth(29.9)};
  const std::vector<Measurement> fast = {bandwidth(38), bandwidth(38.1), bandwidth(37.9)};
  EXPECT_EQ(compare_one(slow, fast).outcome, Outcome::kPass);
  EXPECT_EQ(compare_one(fast, slow, quiet(rail0, 38)).outcome, Outcome::kFail);
}

TEST(Compare, WhatOtherTrafficMayHaveTakenIsNoRegression) {
  const std::vector<Measurement> before = {bandwidth(38), bandwidth(38.1), bandwidth(37.9)};
  for (const double other : {8.5, 3.0}) {
    std::vector<Measurement> after = {bandwidth(30), bandwidth(30.1), bandwidth(29.9)};
    for (Measurement& measurement : after)
      measurement.to.other_traffic = OtherTraffic{1, 0, static_cast<std::uint64_t>(other * 1e9 / 8), {}};
    const CompareResult result = compare_one(before, after, quiet(rail0, 38));
    EXPECT_EQ(result.outcome, other > 5 ? Outcome::kInconclusive : Outcome::kFail);
    const bool told = result.rows[0].note.find("other traffic") != std::string::npos;
    EXPECT_EQ(told, other > 5) << result.rows[0].note;
  }
  std::vector<Measurement> half = {bandwidth(30), bandwidth(30.1), bandwidth(29.9)};
  half.front().to.other_traffic = OtherTraffic{1, 0, 1'100'000'000, {}};
  EXPECT_EQ(compare_one(before, half, quiet(rail0, 38)).outcome, Outcome::kFail)
      << "two had nothing beside them";
}

TEST(Compare, OperationsOfOneEngineAreDifferentSubjects) {
  Measurement read = bandwidth(38);
  read.operation = "read";
  Measurement write = read;
  write.operation = "write";
  EXPECT_FALSE(same_subject(read, write));
  EXPECT_TRUE(same_subject(read, read));
}

TEST(Compare, LowerLatencyIsBetter) {
  const std::vector<Measurement> quick = {latency(20), latency(20.1), latency(19.9)};
  const std::vector<Measurement> slow = {latency(25), latency(25.1), latency(24.9)};
  EXPECT_EQ(compare_one(quick, slow, quiet(latency, 20)).outcome, Outcome::kFail);
  EXPECT_EQ(compare_one(slow, quick, quiet(latency, 20)).outcome, Outcome::kPass);
}

TEST(Compare, ACertainChangeBelowTheThresholdPasses) {
  const CompareResult result =
      compare_one({bandwidth(38.00), bandwidth(38.01), bandwidth(37.99)},
                  {bandwidth(37.60), bandwidth(37.61), bandwidth(37.59)}, quiet(rail0, 38));
  EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_LT(result.rows.front().probability, 0.02);
  EXPECT_EQ(result.earlier_sittings, 6);
}

// The repeats agree to 0.3 %, but nothing shows how much two sittings differ.
TEST(Compare, OneSittingASideWithoutHistoryDecidesNoSmallChange) {
  const CompareResult result = compare_one({bandwidth(38), bandwidth(38.1), bandwidth(37.9)},
                                           {bandwidth(36), bandwidth(36.1), bandwidth(35.9)});
  ASSERT_EQ(result.outcome, Outcome::kInconclusive);
  EXPECT_GT(result.rows.front().more_sittings, 0);
  EXPECT_EQ(result.rows.front().sittings_a, 1);
  EXPECT_NE(result.rows.front().note.find("repeats of one sitting"), std::string::npos);
}

TEST(Compare, OneSittingASideShowsAChangeThatNoSittingMakes) {
  EXPECT_EQ(compare_one({bandwidth(38), bandwidth(38.1), bandwidth(37.9)},
                        {bandwidth(19), bandwidth(19.1), bandwidth(18.9)})
                .outcome,
            Outcome::kFail);
}

TEST(Compare, OneMeasurementASideDecidesNothingAndSaysWhatWould) {
  const CompareResult result = compare_one({bandwidth(38)}, {bandwidth(30)});
  EXPECT_EQ(result.outcome, Outcome::kInconclusive);
  EXPECT_EQ(result.rows.front().more_repeats, 2);  // three in each sitting
  EXPECT_EQ(result.rows.front().more_sittings, 1);
  EXPECT_NE(result.rows.front().note, "");
}

TEST(Compare, TheSittingsThatItAsksForDecideIt) {
  const auto a = [](std::size_t day) { return at(day, {bandwidth(38), bandwidth(38.2), bandwidth(37.8)}); };
  const auto b = [](std::size_t day) { return at(day, {bandwidth(34), bandwidth(34.2), bandwidth(33.8)}); };
  const CompareResult few = compare({a(0)}, {b(1)});
  ASSERT_EQ(few.outcome, Outcome::kInconclusive);
  const int more = few.rows.front().more_sittings;
  ASSERT_GT(more, 0);
  ASSERT_LE(more, 3);
  std::vector<BenchRun> many_a;
  std::vector<BenchRun> many_b;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(more); ++i) {
    many_a.push_back(a(i));
    many_b.push_back(b(4 + i));
  }
  EXPECT_EQ(compare(many_a, many_b).outcome, Outcome::kFail);
}

TEST(Compare, RunsWithinAnHourAreOneSitting) {
  BenchRun later = at(0, {bandwidth(38)});
  later.started_at = "2026-01-01T10:30:00Z";
  const CompareResult result =
      compare({at(0, {bandwidth(38)}), later}, {at(1, {bandwidth(38)}), at(2, {bandwidth(38)})});
  EXPECT_EQ(result.rows.front().sittings_a, 1);
  EXPECT_EQ(result.rows.front().repeats_a, 2);
  EXPECT_EQ(result.rows.front().sittings_b, 2);
}

// The runs on the sides, runs with other options, and a step to another kernel teach nothing.
TEST(Compare, LearnsFromRunsOfTheSameStateAlone) {
  const std::vector<Measurement> a = {bandwidth(38), bandwidth(38.1), bandwidth(37.9)};
  const std::vector<Measurement> b = {bandwidth(36), bandwidth(36.1), bandwidth(35.9)};
  std::vector<BenchRun> earlier = quiet(rail0, 38);
  const double taught = compare_one(a, b, earlier).rows.front().spread;
  const double untaught = compare_one(a, b).rows.front().spread;
  EXPECT_LT(taught, untaught / 3);
  for (std::size_t day = 0; day < 6; ++day) earlier[day].asked = {{"traffic-class", "104"}};
  EXPECT_EQ(compare_one(a, b, earlier).rows.front().spread, untaught);
  earlier = {at(6, a), at(7, b)};
  EXPECT_EQ(compare_one(a, b, earlier).rows.front().spread, untaught);
  earlier = quiet(rail0, 38);
  for (std::size_t day = 0; day < 6; ++day) {
    earlier[day].fingerprint = {{"gpu01 kernel", day < 3 ? "6.8" : "6.11"}};
    if (day >= 3)
      for (Measurement& measurement : earlier[day].measurements) measurement.summary.median /= 2;
  }
  EXPECT_LT(compare_one(a, b, earlier).rows.front().spread, untaught / 2);
}

TEST(Compare, ALossThatAllRailsShareIsSeenInTheirMean) {
  std::vector<BenchRun> earlier;
  std::mt19937_64 random(5);
  std::normal_distribution<double> spread(0, 0.03);
  const auto sitting = [&](std::size_t day, double value) {
    std::vector<Measurement> measurements;
    for (int rail = 0; rail < 12; ++rail) {
      const double own = value * std::exp(spread(random));
      for (const double repeat : {1.0, 1.002, 0.998})
        measurements.push_back(bandwidth(own * repeat, "rail" + std::to_string(rail)));
    }
    return at(day, measurements);
  };
  for (std::size_t day = 0; day < 6; ++day) earlier.push_back(sitting(day, 38));
  const CompareResult result = compare({sitting(6, 38)}, {sitting(7, 34)}, earlier);
  ASSERT_EQ(result.wholes.size(), 1u);
  EXPECT_EQ(result.wholes[0].rows, 12);
  EXPECT_EQ(result.wholes[0].outcome, Outcome::kFail);
  EXPECT_EQ(result.outcome, Outcome::kFail);
}

TEST(Compare, EqualNumbersDoNotDivideByZero) {
  const std::vector<Measurement> a = {bandwidth(38), bandwidth(38)};
  EXPECT_EQ(compare_one(a, a).outcome, Outcome::kInconclusive);
  EXPECT_EQ(compare_one(a, a, quiet(rail0, 38)).outcome, Outcome::kPass);
}

TEST(Compare, WhatBrokeIsAFailureWithItsCause) {
  Measurement broken = bandwidth(0);
  broken.summary = {};
  broken.failure = {"run", "transport retries exhausted", ""};
  const CompareResult result = compare({run_of({bandwidth(38), bandwidth(38.1)})}, {run_of({broken})});
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_NE(result.rows.front().note.find("transport retries exhausted"), std::string::npos);
  EXPECT_EQ(compare({run_of({broken})}, {run_of({bandwidth(38)})}).outcome, Outcome::kInconclusive);
}

TEST(Compare, NamesWhatChangedAndWhatOnlyOneSideMeasured) {
  BenchRun a = run_of({bandwidth(38), bandwidth(20, "rail1")});
  BenchRun b = run_of({bandwidth(38), latency(2)});
  a.fingerprint = {{"gpu01 kernel", "6.8.0-45"}, {"gpu01 os", "Ubuntu 24.04"}};
  b.fingerprint = {{"gpu01 kernel", "6.8.0-47"}, {"gpu01 os", "Ubuntu 24.04"}, {"gpu01 mlx5_0", "28.39"}};
  const CompareResult result = compare({a}, {b});
  ASSERT_EQ(result.changes.size(), 2u);
  EXPECT_EQ(result.changes[0].what, "gpu01 kernel");
  EXPECT_EQ(result.changes[0].b, "6.8.0-47");
  EXPECT_EQ(result.changes[1].a, "");
  ASSERT_EQ(result.only_in_a.size(), 1u);
  EXPECT_EQ(result.only_in_a[0].rail, "rail1");
  ASSERT_EQ(result.only_in_b.size(), 1u);
  EXPECT_EQ(result.only_in_b[0].metric, Metric::kLatency);
}

TEST(Compare, RunsThatWereNotAskedForTheSameAreNotJudged) {
  BenchRun a = run_of({bandwidth(38), bandwidth(38.1), bandwidth(37.9)});
  BenchRun b = run_of({bandwidth(30), bandwidth(30.1), bandwidth(29.9)});
  a.asked = {{"traffic-class", "104"}, {"sizes", "64 KiB"}};
  b.asked = {{"traffic-class", "0"}, {"sizes", "64 KiB"}, {"threads", "2"}};
  const CompareResult result = compare({a}, {b});
  EXPECT_EQ(result.outcome, Outcome::kInconclusive);
  EXPECT_FALSE(result.comparable);
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_EQ(result.rows[0].outcome, Outcome::kInconclusive);
  EXPECT_EQ(result.rows[0].note,
            "not asked for the same: traffic-class 104 in A, 0 in B; threads nothing in A, 2 in B");
  ASSERT_EQ(result.changes.size(), 2u);
  EXPECT_EQ(result.changes[0].what, "asked: traffic-class");
  EXPECT_EQ(result.changes[0].a, "104");
  EXPECT_EQ(result.changes[0].b, "0");
}

TEST(Compare, RunsThatDoNotSayWhatWasAskedForAreComparedWithANote) {
  BenchRun a = run_of({bandwidth(38), bandwidth(38.1), bandwidth(37.9)});
  BenchRun b = run_of({bandwidth(19), bandwidth(19.1), bandwidth(18.9)});
  b.asked = {{"traffic-class", "0"}};
  const CompareResult result = compare({a}, {b});
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_TRUE(result.comparable);
  EXPECT_EQ(result.note, "A does not say what was asked for: compared as if the same");
  a.asked = b.asked;
  EXPECT_EQ(compare({a}, {b}).outcome, Outcome::kFail);
  EXPECT_EQ(compare({a}, {b}).note, "");
}

TEST(Compare, NothingInCommonIsInconclusive) {
  EXPECT_EQ(compare({run_of({bandwidth(38)})}, {run_of({latency(2)})}).outcome, Outcome::kInconclusive);
  EXPECT_EQ(compare({BenchRun()}, {BenchRun()}).outcome, Outcome::kInconclusive);
}

}  // namespace
}  // namespace railbed
