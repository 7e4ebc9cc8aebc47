#include "model/trend.h"

#include <algorithm>
#include <cmath>

#include "base/median.h"

namespace railbed {
namespace {

constexpr std::size_t kMostWindow = 14;  // days
constexpr std::size_t kLeastWindow = 8;
constexpr double kSignificant = 3.3;     // standard deviations, one-sided: 1 in 2000
constexpr double kInterval = 2.58;       // 99 %, two-sided
constexpr double kShareOfHalf = 0.25;    // of the whole slope, that each half has at least
constexpr double kOutOfNoise = 4;        // standard deviations of the rest, by its median
constexpr double kBetterThanStep = 0.6;  // what a line leaves, as a share of what the best single step leaves

constexpr int kLastDay = 1'000'000;
constexpr double kMostValue = 1e6;

// Returns whether a series may have been made by add(): it is read back from a file.
bool is_sound(const DaySeries& series) {
  if (series.day < 0 || series.day > kLastDay) return false;
  int before = 0;
  for (const DayValue& one : series.days) {
    if (one.day <= before || one.day > series.day || !(std::abs(one.value) < kMostValue)) return false;
    before = one.day;
  }
  return std::ranges::all_of(series.today, [](double value) { return std::abs(value) < kMostValue; });
}

// The slopes between all pairs of values, in order; and how many more of them rise than fall.
struct Slopes {
  std::vector<double> sorted = {};
  double rising = 0;
  double middle() const { return median_of(sorted); }
};

Slopes slopes_of(std::span<const DayValue> days) {
  Slopes slopes;
  for (std::size_t i = 0; i < days.size(); ++i)
    for (std::size_t j = i + 1; j < days.size(); ++j) {
      const double slope = (days[j].value - days[i].value) / (days[j].day - days[i].day);
      slopes.sorted.push_back(slope);
      slopes.rising += slope > 0 ? 1 : slope < 0 ? -1 : 0;
    }
  std::ranges::sort(slopes.sorted);
  return slopes;
}

// Returns the sum of the distances from the median.
double spread_of(const std::vector<double>& values) {
  const double middle = median_of(values);
  double sum = 0;
  for (const double value : values) sum += std::abs(value - middle);
  return sum;
}

// Returns the spread that is left if one step parts the days where it fits best.
double spread_beside_step(std::span<const DayValue> days) {
  const auto spread = [](std::span<const DayValue> part) {
    std::vector<double> values;
    for (const DayValue& one : part) values.push_back(one.value);
    return spread_of(values);
  };
  double least = spread(days);
  for (std::size_t at = 1; at < days.size(); ++at)
    least = std::min(least, spread(days.first(at)) + spread(days.subspan(at)));
  return least;
}

std::optional<Foretold> foretell_by(std::span<const DayValue> days, double limit, double least_change) {
  const auto count = static_cast<double>(days.size());
  const Slopes slopes = slopes_of(days);
  const double slope = slopes.middle();
  const double deviation = std::sqrt(count * (count - 1) * (2 * count + 5) / 18);
  if (slope == 0 || slopes.rising * slope < 0 || (std::abs(slopes.rising) - 1) / deviation < kSignificant)
    return std::nullopt;
  const std::size_t half = days.size() / 2;
  for (const auto part : {days.first(half), days.last(half)})
    if (slopes_of(part).middle() / slope < kShareOfHalf) return std::nullopt;

  std::vector<double> rest;
  for (const DayValue& one : days) rest.push_back(one.value - slope * one.day);
  const double base = median_of(rest);
  if (spread_of(rest) > kBetterThanStep * spread_beside_step(days)) return std::nullopt;
  for (double& one : rest) one = std::abs(one - base);
  constexpr double kOfMedian = 1.4826;  // a normal distribution's standard deviation by its median
  const double noise = kOfMedian * median_of(rest);
  const double change = std::abs(slope) * (days.back().day - days.front().day);
  if (change < std::max(least_change, kOutOfNoise * noise)) return std::nullopt;

  // Sen's interval: as many slopes from either end as Kendall's statistic leaves out.
  const double left_out = (static_cast<double>(slopes.sorted.size()) - kInterval * deviation) / 2;
  const auto from_end = static_cast<std::size_t>(std::max(left_out, 0.0));
  const double low = slopes.sorted[from_end];
  const double high = slopes.sorted[slopes.sorted.size() - 1 - from_end];
  if (low * high <= 0) return std::nullopt;
  const double now = base + slope * days.back().day;
  const double way = limit - now;
  Foretold found{
      .now = now, .per_day = slope, .days = way / slope, .soonest = way / low, .latest = way / high};
  if (found.soonest > found.latest) std::swap(found.soonest, found.latest);
  if (found.days <= 0 || found.days > kForetoldDays) return std::nullopt;
  return found;
}

}  // namespace

void DaySeries::add(double unix_seconds, double value) {
  constexpr double kDay = 86400;
  if (!(std::abs(value) < kMostValue) || !(unix_seconds > 0) || unix_seconds > kDay * kLastDay) return;
  const int now = static_cast<int>(unix_seconds / kDay);
  if (now < day || !is_sound(*this)) *this = {};
  if (now > day) {
    if (today.size() >= kLeastOfDay) days.push_back({day, median_of(today)});
    if (days.size() > kMostDays)
      days.erase(days.begin(), days.end() - static_cast<std::ptrdiff_t>(kMostDays));
    today.clear();
    day = now;
  }
  if (today.size() < kMostOfDay) today.push_back(value);
}

std::optional<Foretold> foretell(const DaySeries& series, double limit, double least_change) {
  const std::span<const DayValue> all(series.days);
  if (!is_sound(series) || all.empty() || series.day - all.back().day > 1) return std::nullopt;
  // The shortest window that carries it: a decline that has just begun is not mixed with the days before it.
  for (std::size_t window = kLeastWindow; window <= std::min(kMostWindow, all.size()); ++window) {
    const auto days = all.last(window);
    if (days.back().day - days.front().day >= static_cast<int>(kMostWindow + 2))
      break;  // too many days are missing
    if (auto found = foretell_by(days, limit, least_change)) return found;
  }
  return std::nullopt;
}

}  // namespace railbed
