// When a value that is read every day will reach a limit, if it goes on as it does. Pure; says nothing unless the data
// carry it. Each value is the median of a day, so that heat by day and load by night are no trend.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/fields.h"

namespace railbed {

struct DayValue {
  int day = 0;  // since 1970, UTC
  double value = 0;
  FIELDS(DayValue, day, value);
};

// The medians of the last days, and the readings of the day that goes on.
struct DaySeries {
  std::vector<DayValue> days = {};  // the oldest first
  int day = 0;
  std::vector<double> today = {};
  FIELDS(DaySeries, days, day, today);

  // Adds a reading. A day with fewer than kLeastOfDay readings is left out. A clock that is set back by a day or more
  // begins the series anew, and so does a series whose days are out of order (it is read back from a file).
  void add(double unix_seconds, double value);
};
inline constexpr std::size_t kMostDays = 60;
inline constexpr std::size_t kMostOfDay = 300;
inline constexpr std::size_t kLeastOfDay = 4;

struct Foretold {
  double now = 0;      // by the fitted line
  double per_day = 0;  // the slope
  double days = 0;     // until the limit
  double soonest = 0;  // by the interval of the slope, 99 %
  double latest = 0;
};
inline constexpr double kForetoldDays = 30;  // a limit that is farther away is no news

// Returns when the series reaches the limit, from the last 8 to 14 days that have a value: by Theil and Sen's slope and its
// interval (Sen, J. Am. Stat. Assoc. 63, 1968). Nullopt unless they end yesterday or today; the trend is significant (Mann
// and Kendall, one in two thousand by chance); both halves of it go the same way, and a line fits far better than a single
// step; the change is at least `least_change` and stands out of the noise; and the limit lies ahead within kForetoldDays.
std::optional<Foretold> foretell(const DaySeries& series, double limit, double least_change);

}  // namespace railbed
