#include "store/spread.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/median.h"
#include "base/student.h"

namespace railbed {
namespace {

constexpr std::size_t kMostPaired = 1000;

// The grid of standard deviations, in equal steps of their logarithm.
constexpr double kLeast = 0.0005;
constexpr double kMost = 0.5;
// The prior, assumed: half of all systems spread by more than 1.5 % between sittings, two in nine by more
// than 3 %. Published: less than 3.7 % between repetitions over three months in a public cloud (Henning et al.,
// arXiv 2504.11826), up to 25 % where a network is shared (Wright et al., HPCMP-UGC 2009).
constexpr double kPriorMedian = 0.015;
constexpr double kPriorLogDeviation = 0.9;

// From so many degrees of freedom on, Student's t is taken for the normal distribution.
constexpr double kAsNormal = 300;

double deviation_at(std::size_t point, std::size_t points) {
  return kLeast * std::pow(kMost / kLeast, static_cast<double>(point) / static_cast<double>(points - 1));
}

double tail_of(double t, double freedom) {
  return freedom < kAsNormal ? student_tail(t, freedom) : std::erfc(t / std::numbers::sqrt2) / 2;
}

}  // namespace

double median_share(std::size_t count) {
  return (count < 3 ? 1 : std::numbers::pi / 2) / static_cast<double>(count);
}

double robust_mean(std::vector<double> numbers) {
  if (numbers.size() > kMostPaired) return median_of(numbers);
  std::vector<double> means;
  means.reserve(numbers.size() * (numbers.size() + 1) / 2);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::size_t j = i; j < numbers.size(); ++j) means.push_back((numbers[i] + numbers[j]) / 2);
  return median_of(means);
}

double robust_share(std::size_t count) {
  return (count < 3 ? 1 : std::numbers::pi / 3) / static_cast<double>(count);
}

// A fixed point, sought from the median of the squares. For normal deviations that is 0.455 of their mean.
double capped_mean(const std::vector<double>& squares, double cap) {
  if (squares.empty()) return 0;
  constexpr double kMedianOfSquares = 0.455;
  constexpr int kRounds = 30;
  double mean = median_of(squares) / kMedianOfSquares;
  if (mean <= 0) mean = std::accumulate(squares.begin(), squares.end(), 0.0);
  for (int round = 0; round < kRounds; ++round) {
    double sum = 0;
    for (const double square : squares) sum += std::min(square, cap * mean);
    mean = sum / static_cast<double>(squares.size());
  }
  return mean;
}

SittingSpread::SittingSpread() {
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double away = std::log(deviation_at(i, kPoints) / kPriorMedian) / kPriorLogDeviation;
    logs_[i] = -away * away / 2;
  }
  normalize();
}

void SittingSpread::normalize() {
  const double highest = *std::ranges::max_element(logs_);
  std::ranges::transform(logs_, weights_.begin(), [&](double log) { return std::exp(log - highest); });
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (double& weight : weights_) weight /= sum;
}

void SittingSpread::learn(const SpreadEvidence& seen) {
  if (seen.freedom <= 0) return;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double deviation = deviation_at(i, kPoints);
    const double variance = deviation * deviation + seen.noise;
    logs_[i] -= seen.freedom / 2 * (std::log(variance) + seen.variance / variance);
  }
  normalize();
}

double SittingSpread::median() const {
  double sum = 0;
  std::size_t at = 0;
  while (at + 1 < kPoints && (sum += weights_[at]) < 0.5) ++at;
  return deviation_at(at, kPoints);
}

// On each point of the grid only the repeats' part of the variance is an estimate: its degrees of freedom
// grow with the share of the other part (Satterthwaite).
double SittingSpread::tail(double difference, const DifferenceError& error) const {
  constexpr double kNegligible = 1e-7;
  double sum = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    if (weights_[i] < kNegligible) continue;
    const double deviation = deviation_at(i, kPoints);
    const double variance = deviation * deviation * error.sittings + error.noise;
    const double ratio = error.noise > 0 ? variance / error.noise : 0;
    const double freedom =
        error.noise > 0 && error.noise_freedom > 0 ? error.noise_freedom * ratio * ratio : kAsNormal;
    sum += weights_[i] * tail_of(difference / std::sqrt(variance), freedom);
  }
  return sum;
}

double SittingSpread::quantile(double tail_wanted, const DifferenceError& error) const {
  double low = 0;
  double high = 0.01;
  constexpr double kFarthest = 100;
  while (high < kFarthest && tail(high, error) > tail_wanted) {
    low = high;
    high *= 2;
  }
  constexpr int kHalvings = 24;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (tail(middle, error) > tail_wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace railbed
