#include "bench/statistics/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace railbed {
namespace {

std::vector<double> counting(int n) {
  std::vector<double> values;
  for (int i = 1; i <= n; ++i) values.push_back(i);
  return values;
}

TEST(MedianInterval, RanksAreTheBinomialOnes) {
  // Published ranks (e.g. Conover, Practical Nonparametric Statistics, table A3): n = 6 → 1..6, 10 → 2..9,
  // 20 → 6..15, 100 → 40..61.
  for (const auto& [n, low, high] :
       {std::tuple{6, 1, 6}, std::tuple{10, 2, 9}, std::tuple{20, 6, 15}, std::tuple{100, 40, 61}}) {
    const MedianInterval middle = median_interval(counting(n));
    EXPECT_EQ(middle.low, low) << n;
    EXPECT_EQ(middle.high, high) << n;
    EXPECT_EQ(middle.median, (n + 1) / 2.0) << n;
  }
}

TEST(MedianInterval, ApproximationContinuesTheExactRanks) {
  const MedianInterval exact = median_interval(counting(200));
  const MedianInterval approximate = median_interval(counting(201));
  EXPECT_NEAR(exact.low, approximate.low, 1);
  EXPECT_NEAR(exact.high, approximate.high, 2);
}

TEST(MedianInterval, FewValuesGiveTheirRange) {
  EXPECT_EQ(median_interval({}).median, 0);
  const MedianInterval interval = median_interval({4});
  EXPECT_EQ(interval.low, 4);
  EXPECT_EQ(interval.median, 4);
  EXPECT_EQ(interval.high, 4);
  const MedianInterval three = median_interval({3, 1, 2});
  EXPECT_EQ(three.low, 1);
  EXPECT_EQ(three.median, 2);
  EXPECT_EQ(three.high, 3);
}

TEST(MedianInterval, CoversTheMedianAsOftenAsItPromises) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> skewed(1.0);
  int covered = 0;
  for (int run = 0; run < 2000; ++run) {
    std::vector<double> values;
    for (int i = 0; i < 40; ++i) values.push_back(skewed(random));
    const MedianInterval middle = median_interval(values);
    covered += middle.low <= std::log(2.0) && std::log(2.0) <= middle.high;
  }
  EXPECT_GE(covered, 1880);  // 95 % of 2000 less two standard errors
}

TEST(Batches, IndependentValuesStayAsTheyAre) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(100, 1);
  std::vector<double> values;
  for (int i = 0; i < 64; ++i) values.push_back(noise(random));
  EXPECT_EQ(batch_means(values).size(), 64u);
}

std::vector<double> autoregressive(std::mt19937_64& random, int n) {
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> values;
  double x = 0;
  for (int i = 0; i < n; ++i) values.push_back(x = 0.9 * x + noise(random));
  return values;
}

TEST(Batches, CorrelatedValuesAreBatchedUntilTheyAreNot) {
  std::mt19937_64 random(5);
  const std::vector<double> values = autoregressive(random, 4096);
  EXPECT_NEAR(lag1_correlation(values), 0.9, 0.05);
  const std::vector<double> means = batch_means(values);
  EXPECT_LT(means.size(), 1024u);
  EXPECT_GE(means.size(), 12u);
  EXPECT_LT(lag1_correlation(means), 0.3);
}

TEST(Batches, IntervalOfCorrelatedValuesIsHonest) {
  std::mt19937_64 random(17);
  int naive = 0;
  int batched = 0;
  for (int run = 0; run < 300; ++run) {
    const std::vector<double> values = autoregressive(random, 600);
    const auto covers = [](const MedianInterval& middle) { return middle.low <= 0 && 0 <= middle.high; };
    naive += covers(median_interval(values));
    batched += covers(median_interval(batch_means(values)));
  }
  EXPECT_LT(naive, 200);
  EXPECT_GT(batched, 255);
}

TEST(Batches, LastPartialBatchIsNotLost) {
  std::vector<double> ramp = counting(49);
  const std::vector<double> means = batch_means(ramp);
  ASSERT_GE(means.size(), 12u);
  EXPECT_GT(means.back(), 46);
}

TEST(Summarize, EdgeCases) {
  EXPECT_EQ(summarize({}).samples, 0u);
  const std::vector<double> equal(30, 5e9);
  const Summary summary = summarize(equal);
  EXPECT_EQ(summary.median, 5e9);
  EXPECT_EQ(summary.low, 5e9);
  EXPECT_EQ(summary.high, 5e9);
  EXPECT_EQ(summary.deviation, 0);
  EXPECT_EQ(summary.p99, 0);
  const std::vector<double> one{7};
  EXPECT_EQ(summarize(one).deviation, 0);
  EXPECT_EQ(summarize(one).maximum, 7);
}

TEST(Summarize, DeviationIsNotTruncated) {
  const std::vector<double> values{1, 2, 3, 4};
  EXPECT_NEAR(summarize(values).deviation, 1.290994, 1e-6);
}

TEST(LatencySampler, HalvesRoundTripsAndKeepsTheTrueMaximum) {
  LatencySampler sampler;
  for (int batch = 0; batch < 20; ++batch) {
    for (int i = 0; i < 500; ++i) sampler.add(2000);
    sampler.end_batch();
  }
  sampler.add(90'001);
  const Summary summary = sampler.summary(true);
  EXPECT_EQ(summary.samples, 10'001u);
  EXPECT_NEAR(summary.median, 1000, 10);
  EXPECT_LE(summary.low, summary.median);
  EXPECT_GE(summary.high, summary.median);
  EXPECT_EQ(summary.maximum, 45'000.5);
  EXPECT_NEAR(summary.p9999, 1000, 10);
  EXPECT_EQ(summary.minimum, 1000);
}

TEST(LatencySampler, NothingAddedIsNothingSummarized) {
  LatencySampler sampler;
  sampler.end_batch();
  EXPECT_EQ(sampler.summary(true).samples, 0u);
  EXPECT_EQ(sampler.summary(true).median, 0);
}

}  // namespace
}  // namespace railbed
