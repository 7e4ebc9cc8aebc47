#include "model/trend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>

namespace railbed {
namespace {

constexpr int kFirstDay = 20'000;  // a day in 2024

using ValueOfDay = std::function<double(int day)>;

DaySeries series_of(int days, const ValueOfDay& value) {
  DaySeries series;
  for (int day = 0; day < days; ++day) series.days.push_back({kFirstDay + day, value(day)});
  series.day = kFirstDay + days;
  return series;
}

double rough(int day) { return 0.02 * ((day * 7919) % 5 - 2); }  // noise that is the same everywhere

TEST(DaySeries, KeepsTheMedianOfEachDay) {
  DaySeries series;
  for (int hour = 0; hour < 49; ++hour) series.add(kFirstDay * 86400.0 + hour * 3600, hour % 24);
  ASSERT_EQ(series.days.size(), 2U);
  EXPECT_EQ(series.days[0].day, kFirstDay);
  EXPECT_EQ(series.days[0].value, 11.5);
  EXPECT_EQ(series.today.size(), 1U);
}

TEST(DaySeries, LeavesOutADayOfFewReadingsAndIsBounded) {
  DaySeries series;
  for (int i = 0; i < 3; ++i) series.add(kFirstDay * 86400.0 + i, 1);
  series.add((kFirstDay + 1) * 86400.0, 1);
  EXPECT_TRUE(series.days.empty());
  for (int hour = 0; hour < 24 * 100; ++hour) series.add((kFirstDay + 1) * 86400.0 + hour * 3600, 1);
  EXPECT_EQ(series.days.size(), kMostDays);
  for (int i = 0; i < 5000; ++i) series.add((kFirstDay + 200) * 86400.0 + i, 1);
  EXPECT_EQ(series.today.size(), kMostOfDay);
}

TEST(DaySeries, BeginsAnewIfTheClockIsSetBackOrTheFileWasChanged) {
  DaySeries series = series_of(10, [](int) { return 1; });
  series.add((kFirstDay + 3) * 86400.0, 1);
  EXPECT_TRUE(series.days.empty());
  series = series_of(10, [](int) { return 1; });
  std::swap(series.days[2], series.days[7]);
  series.add((kFirstDay + 10) * 86400.0, 1);
  EXPECT_TRUE(series.days.empty());
  series.add(std::nan(""), 1);
  series.add(1e300, 1);
  series.add((kFirstDay + 10) * 86400.0, std::nan(""));
  EXPECT_EQ(series.today.size(), 1U);
}

TEST(Trend, TellsWhenADeclineReachesTheLimit) {
  const DaySeries series = series_of(14, [](int day) { return -3 - 0.2 * day + rough(day); });
  const auto found = foretell(series, -8, 1);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->per_day, -0.2, 0.01);
  EXPECT_NEAR(found->days, 12, 0.7);  // at day 25, seen on day 13
  EXPECT_LE(found->soonest, found->days);
  EXPECT_GE(found->latest, found->days);
}

TEST(Trend, TellsWhenBitErrorsReachTheirs) {
  const auto found = foretell(series_of(10, [](int day) { return -8 + 0.25 * day + rough(day); }), -3.6, 0.5);
  ASSERT_TRUE(found);
  EXPECT_GT(found->per_day, 0);
  EXPECT_NEAR(found->days, 8.6, 0.7);
}

struct QuietSeries {
  const char* what;
  int days;
  ValueOfDay value;
};

TEST(Trend, IsQuietUnlessTheDataCarryIt) {
  const QuietSeries kCases[] = {
      {"constant", 14, [](int) { return -3; }},
      {"noise", 14, [](int day) { return -3 + 5 * rough(day); }},
      {"too few days", 7, [](int day) { return -3 - 0.4 * day; }},
      {"one step down", 14, [](int day) { return (day < 7 ? -2 : -6) + rough(day); }},
      {"a step on the last days", 14, [](int day) { return (day < 11 ? -2 : -6) + rough(day); }},
      {"it has come to rest", 14, [](int day) { return (day < 7 ? -2 - 0.5 * day : -5.5) + rough(day); }},
      {"it falls by a tenth of a decibel", 14, [](int day) { return -7.8 - 0.008 * day; }},
      {"the limit is months away", 14, [](int day) { return -1 - 0.08 * day + rough(day) / 4; }},
      {"it gets better", 14, [](int day) { return -6 + 0.2 * day + rough(day); }},
      {"it is beyond the limit already", 14, [](int day) { return -8.5 - 0.2 * day + rough(day); }},
      {"a week", 14, [](int day) { return -5 + 1.5 * std::sin(2 * std::numbers::pi * day / 7); }},
  };
  for (const QuietSeries& quiet : kCases)
    EXPECT_FALSE(foretell(series_of(quiet.days, quiet.value), -8, 1)) << quiet.what;
}

TEST(Trend, ASeriesThatEndedSaysNothing) {
  DaySeries series = series_of(14, [](int day) { return -3 - 0.2 * day + rough(day); });
  series.day += 3;
  EXPECT_FALSE(foretell(series, -8, 1));
  EXPECT_FALSE(foretell(DaySeries(), -8, 1));
  series = series_of(14, [](int day) { return -3 - 0.2 * day + rough(day); });
  series.days[3].day = series.days[2].day;
  EXPECT_FALSE(foretell(series, -8, 1)) << "somebody has changed the file";
}

// One link: what it receives in each hour.
class LinkOfYear {
 public:
  explicit LinkOfYear(unsigned seed) : random_(seed) {}

  // Heat by day, a week, noise of the reading, and what drifts from day to day and comes back.
  double read(int hour) {
    if (hour % 24 == 0) drift_ = 0.9 * drift_ + 0.04 * normal_(random_);
    const double day = hour / 24.0;
    const double heat = 0.3 * std::sin(2 * std::numbers::pi * day) +
                        0.1 * std::sin(2 * std::numbers::pi * day / 7) +
                        0.2 * std::sin(2 * std::numbers::pi * day / 365);
    return std::round((heat + drift_ + 0.1 * normal_(random_)) * 100) / 100;
  }
  // Somebody cleans or replugs a fibre twice a year.
  double step() {
    if (std::uniform_int_distribution<int>(0, 182)(random_) == 0) level_ = normal_(random_);
    return level_;
  }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  double drift_ = 0;
  double level_ = 0;
};

TEST(Trend, SoundLinksRaiseAtMostOneAlarmInAHundredYears) {
  constexpr int kLinks = 100;
  int raised = 0;
  for (unsigned seed = 1; seed <= kLinks; ++seed) {
    LinkOfYear link(seed);
    DaySeries series;
    bool has_raised = false;
    for (int day = 0; day < 365; ++day) {
      const double level = link.step();
      for (int hour = 0; hour < 24; ++hour)
        series.add((kFirstDay + day) * 86400.0 + hour * 3600, -4 + level + link.read(day * 24 + hour));
      has_raised = has_raised || foretell(series, -7, 1).has_value();
    }
    raised += has_raised ? 1 : 0;
  }
  EXPECT_LE(raised, kLinks / 100) << "links of " << kLinks << " raised an alarm within a year";
}

TEST(Trend, DeclinesAreToldDaysAhead) {
  constexpr int kLinks = 200;
  int told = 0;
  int right = 0;
  for (unsigned seed = 1; seed <= kLinks; ++seed) {
    LinkOfYear link(seed);
    const double slope = -0.1 - 0.2 * seed / kLinks;  // dB a day
    const double begins = 20;
    const double reaches = begins + 4 / -slope;
    DaySeries series;
    for (int day = 0; day < reaches - 3; ++day) {
      for (int hour = 0; hour < 24; ++hour)
        series.add((kFirstDay + day) * 86400.0 + hour * 3600,
                   -3 + slope * std::max(0.0, day + hour / 24.0 - begins) + link.read(day * 24 + hour));
      const auto found = foretell(series, -7, 1);
      if (!found) continue;
      ++told;
      // The last whole day's median is of its noon.
      const double left = reaches - (day - 0.5);
      right += std::abs(found->days - left) < 0.5 * left ? 1 : 0;
      break;
    }
  }
  EXPECT_GE(told, kLinks * 95 / 100) << "at least three days ahead";
  EXPECT_GE(right, told * 80 / 100) << "within half of the time that was left";
}

}  // namespace
}  // namespace railbed
