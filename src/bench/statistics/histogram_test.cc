#include "bench/statistics/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace railbed {
namespace {

TEST(Histogram, EmptyIsAllZero) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.minimum(), 0u);
  EXPECT_EQ(empty.maximum(), 0u);
  EXPECT_EQ(empty.mean(), 0);
  EXPECT_EQ(empty.deviation(), 0);
  EXPECT_EQ(empty.quantile(0.99), 0u);
}

TEST(Histogram, OneSampleIsEveryQuantile) {
  Histogram histogram;
  histogram.add(123'457);
  for (const double q : {0.0, 0.5, 0.99, 0.9999, 1.0}) EXPECT_EQ(histogram.quantile(q), 123'457u) << q;
  EXPECT_EQ(histogram.mean(), 123'457);
  EXPECT_EQ(histogram.deviation(), 0);
}

TEST(Histogram, EqualSamplesAreExactHoweverLarge) {
  Histogram equal;
  for (int i = 0; i < 1000; ++i) equal.add(UINT64_MAX);
  EXPECT_EQ(equal.quantile(0.5), UINT64_MAX);
  EXPECT_EQ(equal.minimum(), UINT64_MAX);
  EXPECT_DOUBLE_EQ(equal.mean(), static_cast<double>(UINT64_MAX));  // the sum needs more than 64 bits
  EXPECT_DOUBLE_EQ(equal.deviation(), 0);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram small;
  for (std::uint64_t i = 1; i <= 100; ++i) small.add(i);
  EXPECT_EQ(small.quantile(0.5), 50u);
  EXPECT_EQ(small.quantile(0.99), 99u);
  EXPECT_EQ(small.quantile(1.0), 100u);
  EXPECT_DOUBLE_EQ(small.mean(), 50.5);
  EXPECT_NEAR(small.deviation(), 29.0115, 1e-4);
}

TEST(Histogram, EveryMagnitudeStaysWithinItsPrecision) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t add :
         {std::uint64_t{0}, (std::uint64_t{1} << bit) / 3, (std::uint64_t{1} << bit) - 1}) {
      const std::uint64_t value = (std::uint64_t{1} << bit) + add;
      Histogram three;  // the middle one is neither minimum nor maximum, so its value comes from the bucket
      three.add(0);
      three.add(value);
      three.add(UINT64_MAX);
      const double got = static_cast<double>(three.at_rank(2));
      EXPECT_LE(std::abs(got / static_cast<double>(value) - 1), 1.0 / 256) << value;
    }
  }
}

TEST(Histogram, QuantilesOfALognormalMatchTheSortedSamples) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(std::log(5000.0), 0.8);
  Histogram histogram;
  std::vector<std::uint64_t> samples;
  for (int i = 0; i < 200'000; ++i) {
    samples.push_back(static_cast<std::uint64_t>(latency(random)));
    histogram.add(samples.back());
  }
  std::sort(samples.begin(), samples.end());
  for (const double q : {0.01, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(samples.size())));
    const double exact = static_cast<double>(samples[rank - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.quantile(q)), exact, exact * 0.01) << q;
  }
  EXPECT_EQ(histogram.maximum(), samples.back());
  EXPECT_EQ(histogram.minimum(), samples.front());
}

TEST(Histogram, MergedPartsEqualTheWhole) {
  std::mt19937_64 random(11);
  Histogram whole;
  Histogram left;
  Histogram right;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t value = random() >> (random() % 60);
    whole.add(value);
    (i % 3 == 0 ? left : right).add(value);
  }
  left.merge(right);
  left.merge(Histogram());
  EXPECT_EQ(left.count(), whole.count());
  EXPECT_EQ(left.minimum(), whole.minimum());
  EXPECT_EQ(left.maximum(), whole.maximum());
  EXPECT_DOUBLE_EQ(left.mean(), whole.mean());
  EXPECT_NEAR(left.deviation() / whole.deviation(), 1, 1e-9);
  for (const double q : {0.1, 0.5, 0.999}) EXPECT_EQ(left.quantile(q), whole.quantile(q));
}

}  // namespace
}  // namespace railbed
