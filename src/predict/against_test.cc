#include "predict/against.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "predict/testing/published.h"

namespace railbed {
namespace {

ForecastCheck row(std::string subject, std::uint64_t bytes, double deviations, double spread = .2) {
  Forecast forecast;
  forecast.bytes = bytes;
  forecast.busbw = 100e9;
  forecast.busbw_low = 100e9 * std::exp(-1.2816 * spread);
  forecast.busbw_high = 100e9 * std::exp(1.2816 * spread);
  return check_of(std::move(subject), 100e9 * std::exp(-deviations * spread), forecast);
}

constexpr std::uint64_t kSmall = 8 << 10, kMiddle = 8 << 20, kLarge = 1 << 30;

TEST(RunVerdict, OneLowRowOfManyIsNotTheVerdict) {
  std::vector<ForecastCheck> checks;
  for (int i = 0; i < 8; ++i) checks.push_back(row("all_reduce", kLarge, 0));
  checks.push_back(row("all_reduce", kLarge, 4));
  EXPECT_EQ(checks.back().fit, ForecastFit::kFallsShort);
  EXPECT_EQ(verdict_of(checks).fit, ForecastFit::kFits);
}

TEST(RunVerdict, ALowSizeClassIsFoundAmongSoundOnes) {
  std::vector<ForecastCheck> checks;
  for (int i = 0; i < 8; ++i) {
    checks.push_back(row("all_reduce", kSmall, 0));
    checks.push_back(row("all_reduce", kMiddle, 0));
    checks.push_back(row("all_reduce", kLarge, 6));
  }
  const RunVerdict verdict = verdict_of(checks);
  EXPECT_EQ(verdict.fit, ForecastFit::kFallsShort);
  ASSERT_EQ(verdict.pooled.size(), 4u);
  EXPECT_EQ(verdict.pooled[2].what, "all_reduce, large sizes");
  EXPECT_EQ(verdict.pooled[2].rows, 8);
  EXPECT_EQ(verdict.pooled[2].fit, ForecastFit::kFallsShort);
  EXPECT_EQ(verdict.pooled[0].fit, ForecastFit::kFits);
}

// Rows of one run share their error, so ten of them are no more certain than one.
TEST(RunVerdict, ManyRowsAreNoMoreCertainThanOne) {
  std::vector<ForecastCheck> checks = {row("all_reduce", kLarge, 1.4)};
  const RunVerdict one = verdict_of(checks);
  for (int i = 0; i < 9; ++i) checks.push_back(row("all_reduce", kLarge, 1.4));
  EXPECT_NEAR(verdict_of(checks).pooled[0].probability, one.pooled[0].probability, 1e-12);
  EXPECT_EQ(verdict_of(checks).fit, ForecastFit::kFits);
}

TEST(RunVerdict, ClassesThatAreAllLowTogetherFallShort) {
  EXPECT_EQ(verdict_of({row("a", kSmall, 2.9), row("a", kMiddle, 2.9), row("a", kLarge, 2.9)}).fit,
            ForecastFit::kFallsShort);
  EXPECT_NE(verdict_of({row("a", kSmall, 2.9), row("a", kMiddle, 0), row("a", kLarge, 0)}).fit,
            ForecastFit::kFallsShort);
}

TEST(RunVerdict, WithoutRowsItFits) { EXPECT_EQ(verdict_of({}).fit, ForecastFit::kFits); }

// Broadcast over two EDR adapters at 15 to 20 of 24 GB/s: within what the forecast's band allows.
const std::set<std::string> kWithinTheBand = {"v100-2node-2edr-broadcast"};

TEST(RunVerdict, OfPublishedRunsOnlySickOnesFallShort) {
  int sound = 0;
  int sick = 0;
  int below = 0;
  for (const PublishedMeasurement& measurement : read_published()) {
    std::vector<ForecastCheck> checks;
    for (const MeasuredTime& time : times_of(measurement)) {
      const Forecast said =
          forecast_collective(time.shape, time.operation, time.bytes, shipped_calibration(), time.choice);
      checks.push_back(check_of(measurement.id, said.busbw * said.time / time.time, said));
    }
    const ForecastFit fit = verdict_of(checks).fit;
    if (measurement.use == "sick") {
      ++sick;
      EXPECT_TRUE(fit == ForecastFit::kFallsShort || kWithinTheBand.contains(measurement.id))
          << measurement.id;
      continue;
    }
    if (measurement.use == "unsure") continue;
    ++sound;
    below += fit != ForecastFit::kFits;
    EXPECT_NE(fit, ForecastFit::kFallsShort) << measurement.id;
  }
  EXPECT_GE(sick, 4);
  EXPECT_GE(sound, 50);
  // At most one in ten is doubtful.
  EXPECT_LE(below, sound / 10);
  RecordProperty("doubtful", below);
  RecordProperty("sound", sound);
}

}  // namespace
}  // namespace railbed
