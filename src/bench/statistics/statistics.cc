// The confidence interval of a median. Throughput and latency follow no known distribution, so the method
// assumes none.
//
// Order statistics: sort n values. Each is above the true median with probability 1/2, so the number of
// values below the median is distributed like the number of heads in n throws of a coin. The interval from
// the k-th smallest to the k-th largest value misses the median only if fewer than k throws show heads, or
// fewer than k show tails; k is the largest number for which the probability of that is at most 5 %. For six
// values the interval is their whole range, for 100 values it is the 40th to the 61st.
//
// The throws must be independent, but neighboring samples are not: a slow moment lasts for several of them.
// Without correction the interval would be too narrow, by any factor. So neighbors are averaged in batches of
// two, four, eight …, until the correlation of one batch with the next is within chance (two standard
// errors). The interval is then computed from the batches' means.
#include "bench/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace railbed {
namespace {

constexpr double kZ95 = 1.959964;

// The ranks (from 1) of the values that bound the median with at least 95 % confidence. Up to 200 values they
// come from exact binomial sums, above from the normal approximation. David and Nagaraja, Order Statistics,
// 7.1.
struct Ranks {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

Ranks median_ranks(std::uint64_t n) {
  if (n > 200) {
    const double half = kZ95 * std::sqrt(static_cast<double>(n)) / 2;
    const auto low = static_cast<std::uint64_t>(std::floor(static_cast<double>(n + 1) / 2 - half));
    return {low, n + 1 - low};
  }
  // The largest k with P(Binomial(n, 1/2) < k) ≤ 2.5 %: [x(k), x(n+1−k)] covers the median.
  double term = std::pow(0.5, static_cast<double>(n));
  double tail = term;
  std::uint64_t k = 0;
  while (tail <= 0.025 && k < n / 2) {
    ++k;
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    tail += term;
  }
  return {std::max<std::uint64_t>(k, 1), n + 1 - std::max<std::uint64_t>(k, 1)};
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

MedianInterval median_interval(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const Ranks ranks = median_ranks(n);
  return {(values[(n - 1) / 2] + values[n / 2]) / 2, values[ranks.low - 1], values[ranks.high - 1]};
}

double lag1_correlation(std::span<const double> values) {
  if (values.size() < 3) return 0;
  const double mean = mean_of(values);
  double together = 0;
  double alone = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    alone += (values[i] - mean) * (values[i] - mean);
    if (i > 0) together += (values[i] - mean) * (values[i - 1] - mean);
  }
  return alone > 0 ? together / alone : 0;
}

std::vector<double> batch_means(std::span<const double> values) {
  std::vector<double> means(values.begin(), values.end());
  for (std::size_t size = 2; means.size() >= 24; size *= 2) {
    // Two standard errors of the coefficient under independence.
    if (lag1_correlation(means) <= 2 / std::sqrt(static_cast<double>(means.size()))) break;
    means.clear();
    for (std::size_t start = 0; start + size <= values.size(); start += size) {
      const bool last = start + 2 * size > values.size();
      means.push_back(mean_of(values.subspan(start, last ? values.size() - start : size)));
    }
  }
  return means;
}

Summary summarize(std::span<const double> intervals) {
  Summary summary;
  if (intervals.empty()) return summary;
  summary.samples = intervals.size();
  const MedianInterval middle = median_interval(batch_means(intervals));
  summary.median = middle.median;
  summary.low = middle.low;
  summary.high = middle.high;
  summary.mean = mean_of(intervals);
  const auto [low, high] = std::minmax_element(intervals.begin(), intervals.end());
  summary.minimum = *low;
  summary.maximum = *high;
  double squares = 0;
  for (const double value : intervals) squares += (value - summary.mean) * (value - summary.mean);
  if (intervals.size() > 1)
    summary.deviation = std::sqrt(squares / static_cast<double>(intervals.size() - 1));
  return summary;
}

void LatencySampler::end_batch() {
  if (batch_.count() == 0) return;
  if (medians_.size() < kMostBatches) medians_.push_back(static_cast<double>(batch_.quantile(0.5)));
  all_.merge(batch_);
  batch_.clear();
}

Summary LatencySampler::summary(bool halve) {
  end_batch();
  const double scale = halve ? 0.5 : 1.0;
  const auto at = [&](double fraction) { return static_cast<double>(all_.quantile(fraction)) * scale; };
  Summary summary;
  summary.samples = all_.count();
  summary.median = at(0.5);
  summary.mean = all_.mean() * scale;
  summary.minimum = static_cast<double>(all_.minimum()) * scale;
  summary.maximum = static_cast<double>(all_.maximum()) * scale;
  summary.deviation = all_.deviation() * scale;
  summary.p99 = at(0.99);
  summary.p999 = at(0.999);
  summary.p9999 = at(0.9999);
  const MedianInterval middle = median_interval(batch_means(medians_));
  // The batches' medians bracket the median of all samples. If they are too few or skewed, the interval is
  // widened to include it.
  summary.low = std::min(middle.low * scale, summary.median);
  summary.high = std::max(middle.high * scale, summary.median);
  return summary;
}

}  // namespace railbed
