// Student's t distribution by the regularized incomplete beta function I (Abramowitz and Stegun 26.7.1):
//     P(T > t) = I(ν/2, 1/2; ν/(ν + t²)) / 2 for t ≥ 0.
// I is a prefactor times a continued fraction (26.5.8). Lentz's method evaluates it from the front: each step
// multiplies the value by the ratio of successive numerators and denominators, kept away from zero, until
// that factor is 1. The fraction converges quickly only below the mean of the beta distribution; above it the
// code uses I(a, b; x) = 1 − I(b, a; 1 − x). The quantile doubles an upper bound until the tail is small
// enough, and then bisects.
#include <algorithm>
#include <cmath>

#include "store/compare.h"

namespace railbed {
namespace {

double continued_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kSteps = 500;
  double c = 1;
  double d = 1 / std::max(std::abs(1 - (a + b) * x / (a + 1)), kTiny);
  double value = d;
  for (int m = 1; m <= kSteps; ++m) {
    const auto step = [&](double numerator) {
      d = 1 + numerator * d;
      c = 1 + numerator / c;
      if (std::abs(d) < kTiny) d = kTiny;
      if (std::abs(c) < kTiny) c = kTiny;
      d = 1 / d;
      value *= c * d;
      return std::abs(c * d - 1);
    };
    step(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    if (step(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))) < 1e-14) break;
  }
  return value;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges quickly on one side of the mean only.
  if (x < (a + 1) / (a + b + 2)) return front * continued_fraction(a, b, x) / a;
  return 1 - front * continued_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_tail(double t, double freedom) {
  const double beyond = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
  return t >= 0 ? beyond : 1 - beyond;
}

double student_quantile(double tail, double freedom) {
  double low = 0;
  double high = 1;
  while (student_tail(high, freedom) > tail && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_tail(middle, freedom) > tail ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace railbed
