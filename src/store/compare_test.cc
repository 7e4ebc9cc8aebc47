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

// Makes `repeats` runs of a system with the true value `mean`, whose runs vary by `noise`.
BenchRun simulated(std::mt19937_64& random, int repeats, double mean, double noise) {
  std::normal_distribution<double> spread(0, noise);
  BenchRun run;
  for (int i = 0; i < repeats; ++i) run.measurements.push_back(bandwidth(mean * std::exp(spread(random))));
  return run;
}

int failures_of(double change, int trials) {
  std::mt19937_64 random(20260119);
  int failures = 0;
  for (int i = 0; i < trials; ++i) {
    const BenchRun a = simulated(random, 8, 38, 0.02);
    const BenchRun b = simulated(random, 8, 38 * change, 0.02);
    failures += compare(a, b).outcome == Outcome::kFail;
  }
  return failures;
}

TEST(Compare, FindsARegressionOfFivePercentInNoiseOfTwo) { EXPECT_GE(failures_of(0.95, 1000), 950); }

TEST(Compare, LeavesAnUnchangedSystemAlone) { EXPECT_LE(failures_of(1.0, 1000), 10); }

TEST(Compare, AnImprovementPasses) {
  const BenchRun a = run_of({bandwidth(30), bandwidth(30.1), bandwidth(29.9)});
  const BenchRun b = run_of({bandwidth(38), bandwidth(38.1), bandwidth(37.9)});
  EXPECT_EQ(compare(a, b).outcome, Outcome::kPass);
  EXPECT_EQ(compare(b, a).outcome, Outcome::kFail);
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
  const BenchRun a = run_of({latency(20), latency(20.1), latency(19.9)});
  const BenchRun b = run_of({latency(25), latency(25.1), latency(24.9)});
  EXPECT_EQ(compare(a, b).outcome, Outcome::kFail);
  EXPECT_EQ(compare(b, a).outcome, Outcome::kPass);
}

TEST(Compare, ACertainChangeBelowTheThresholdPasses) {
  const BenchRun a = run_of({bandwidth(38.00), bandwidth(38.01), bandwidth(37.99)});
  const BenchRun b = run_of({bandwidth(37.60), bandwidth(37.61), bandwidth(37.59)});
  const CompareResult result = compare(a, b);
  EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_LT(result.rows.front().probability, 0.001);
}

TEST(Compare, OneRunASideDecidesNothingAndSaysHowManyWould) {
  const CompareResult result = compare(run_of({bandwidth(38)}), run_of({bandwidth(30)}));
  EXPECT_EQ(result.outcome, Outcome::kInconclusive);
  EXPECT_EQ(result.rows.front().more_repeats, 2);  // three per side
  EXPECT_NE(result.rows.front().note, "");
}

TEST(Compare, NoiseIsInconclusiveAndTheRepeatsItAsksForDecideIt) {
  const std::vector<Measurement> a = {bandwidth(36), bandwidth(38), bandwidth(40)};
  const std::vector<Measurement> b = {bandwidth(33), bandwidth(35), bandwidth(37)};
  const CompareResult few = compare(run_of(a), run_of(b));
  ASSERT_EQ(few.outcome, Outcome::kInconclusive);
  const int more = few.rows.front().more_repeats;
  ASSERT_GT(more, 0);
  BenchRun many_a;
  BenchRun many_b;
  for (int i = 0; i < 3 + more; ++i) {
    many_a.measurements.push_back(a[static_cast<std::size_t>(i) % 3]);
    many_b.measurements.push_back(b[static_cast<std::size_t>(i) % 3]);
  }
  EXPECT_EQ(compare(many_a, many_b).outcome, Outcome::kFail);
}

TEST(Compare, EqualNumbersPassWithoutDividingByZero) {
  const BenchRun a = run_of({bandwidth(38), bandwidth(38)});
  EXPECT_EQ(compare(a, a).outcome, Outcome::kPass);
}

// Twenty rows of an unchanged system: tested one by one, some would sometimes fail.
TEST(Compare, ManyRowsDoNotMakeAFalseAlarm) {
  std::mt19937_64 random(42);
  int failures = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::normal_distribution<double> spread(0, 0.05);
    BenchRun a, b;
    for (int row = 0; row < 20; ++row)
      for (int i = 0; i < 4; ++i) {
        const std::string rail = "rail" + std::to_string(row);
        a.measurements.push_back(bandwidth(38 * std::exp(spread(random)), rail));
        b.measurements.push_back(bandwidth(38 * std::exp(spread(random)), rail));
      }
    failures += compare(a, b).outcome == Outcome::kFail;
  }
  EXPECT_LE(failures, 6);  // 1 % expected; 3 % would be far outside chance
}

TEST(Compare, WhatBrokeIsAFailureWithItsCause) {
  Measurement broken = bandwidth(0);
  broken.summary = {};
  broken.failure = {"run", "transport retries exhausted", ""};
  const CompareResult result = compare(run_of({bandwidth(38), bandwidth(38.1)}), run_of({broken}));
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_NE(result.rows.front().note.find("transport retries exhausted"), std::string::npos);
  EXPECT_EQ(compare(run_of({broken}), run_of({bandwidth(38)})).outcome, Outcome::kInconclusive);
}

TEST(Compare, NamesWhatChangedAndWhatOnlyOneSideMeasured) {
  BenchRun a = run_of({bandwidth(38), bandwidth(20, "rail1")});
  BenchRun b = run_of({bandwidth(38), latency(2)});
  a.fingerprint = {{"gpu01 kernel", "6.8.0-45"}, {"gpu01 os", "Ubuntu 24.04"}};
  b.fingerprint = {{"gpu01 kernel", "6.8.0-47"}, {"gpu01 os", "Ubuntu 24.04"}, {"gpu01 mlx5_0", "28.39"}};
  const CompareResult result = compare(a, b);
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
  const CompareResult result = compare(a, b);
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
  BenchRun b = run_of({bandwidth(30), bandwidth(30.1), bandwidth(29.9)});
  b.asked = {{"traffic-class", "0"}};
  const CompareResult result = compare(a, b);
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_TRUE(result.comparable);
  EXPECT_EQ(result.note, "A does not say what was asked for: compared as if the same");
  a.asked = b.asked;
  EXPECT_EQ(compare(a, b).outcome, Outcome::kFail);
  EXPECT_EQ(compare(a, b).note, "");
}

TEST(Compare, NothingInCommonIsInconclusive) {
  EXPECT_EQ(compare(run_of({bandwidth(38)}), run_of({latency(2)})).outcome, Outcome::kInconclusive);
  EXPECT_EQ(compare({}, {}).outcome, Outcome::kInconclusive);
}

// From the printed tables: t(0.01; 1) = 31.82, t(0.025; 10) = 2.228, t(0.01; 14) = 2.624; normal far out.
TEST(Student, AgreesWithTheTables) {
  EXPECT_NEAR(student_quantile(0.01, 1), 31.82, 0.01);
  EXPECT_NEAR(student_quantile(0.025, 10), 2.228, 0.001);
  EXPECT_NEAR(student_quantile(0.01, 14), 2.624, 0.001);
  EXPECT_NEAR(student_quantile(0.025, 1e6), 1.95997, 0.0001);
  EXPECT_NEAR(student_tail(0, 5), 0.5, 1e-12);
  EXPECT_NEAR(student_tail(-2.228, 10), 0.975, 1e-4);
}

}  // namespace
}  // namespace railbed
