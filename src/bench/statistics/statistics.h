// Computes a Summary (results/measurement.h) from samples. docs/decisions gives the reasons for the methods.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/statistics/histogram.h"
#include "results/measurement.h"

namespace railbed {

// A median and the interval around it.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
};

// Returns the median and its 95 % confidence interval from order statistics, without an assumption on the
// distribution. Fewer than six values cannot give 95 %: then the interval is their whole range. All zero if
// there are no values. The values must be independent, see batch_means().
MedianInterval median_interval(std::vector<double> values);

// Returns the correlation of each value with the one after it, −1 … 1. Fewer than three values, or equal
// ones, give 0.
double lag1_correlation(std::span<const double> values);

// Returns the means of batches of neighboring samples. Neighboring samples resemble each other, which makes
// naive intervals too narrow. So the batch size is doubled until the batches' means no longer correlate, or
// fewer than twelve batches would be left. An incomplete batch at the end joins the one before it.
std::vector<double> batch_means(std::span<const double> values);

// Summarizes throughput intervals in bits per second. The median and its interval come from batch means, the
// rest from the intervals themselves.
Summary summarize(std::span<const double> intervals);

// Collects latencies in nanoseconds. Memory does not grow with the run: a histogram of all samples, one of
// the present batch, and a bounded list of batch medians. Not thread-safe.
class LatencySampler {
 public:
  void add(std::uint64_t ns) { batch_.add(ns); }
  // Ends a batch. To be called a few times a second, outside the timed region.
  void end_batch();
  std::uint64_t count() const { return all_.count() + batch_.count(); }
  // Ends the batch and summarizes all samples. With `halve`, all times are divided by two: the samples were
  // round trips.
  Summary summary(bool halve);

 private:
  static constexpr std::size_t kMostBatches = 4096;
  Histogram all_;
  Histogram batch_;
  std::vector<double> medians_;
};

}  // namespace railbed
