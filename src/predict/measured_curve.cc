#include "predict/measured_curve.h"

#include <algorithm>
#include <cmath>

namespace railbed {
namespace {

constexpr double kMostRatio = 20;
constexpr std::size_t kMostPoints = 64;  // sizes up to 2^64, each twice the one before

// Interpolates linearly between the logarithms of sizes and ratios.
double between(const CurvePoint& below, const CurvePoint& above, std::uint64_t bytes) {
  const auto log = [](std::uint64_t size) { return std::log2(static_cast<double>(size)); };
  const double way = (log(bytes) - log(below.bytes)) / (log(above.bytes) - log(below.bytes));
  return std::exp(std::log(below.ratio) * (1 - way) + std::log(above.ratio) * way);
}

}  // namespace

bool is_sound(const MeasuredCurve& curve) {
  const auto rises = [](const CurvePoint& a, const CurvePoint& b) { return a.bytes >= b.bytes; };
  return !curve.points.empty() && curve.points.size() <= kMostPoints && curve.points.front().bytes > 0 &&
         std::ranges::adjacent_find(curve.points, rises) == curve.points.end() &&
         std::ranges::all_of(curve.points, [](const CurvePoint& point) {
           return point.ratio > 1 / kMostRatio && point.ratio < kMostRatio;
         });
}

double measured_ratio(const std::vector<MeasuredCurve>& curves, const CurveSubject& of, std::uint64_t bytes) {
  const auto curve = std::ranges::find(curves, of, &MeasuredCurve::of);
  if (curve == curves.end() || curve->points.empty()) return 1;
  const auto above = std::ranges::lower_bound(curve->points, bytes, {}, &CurvePoint::bytes);
  if (above == curve->points.end()) return curve->points.back().ratio;
  if (above == curve->points.begin() || above->bytes == bytes) return above->ratio;
  return between(*std::prev(above), *above, bytes);
}

}  // namespace railbed
