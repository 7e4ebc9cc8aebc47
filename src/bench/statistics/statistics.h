// From samples to a Summary (results/measurement.h). docs/decisions says why these methods.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/statistics/histogram.h"
#include "results/measurement.h"

namespace railbed {

struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
};

// The median and its 95 % confidence interval from order statistics: no assumption on the distribution.
// Fewer than six values cannot give 95 %; their whole range is returned.
MedianInterval median_interval(std::vector<double> values);

// Correlation of each value with the one after it, −1 … 1. Fewer than three values, or equal ones: 0.
double lag1_correlation(std::span<const double> values);

// Neighbouring samples resemble each other, which makes naive intervals too narrow. This doubles the batch
// size until the batches' means no longer correlate, or fewer than twelve batches would be left. A batch at
// the end that is not full joins its neighbour.
std::vector<double> batch_means(std::span<const double> values);

// Of throughput intervals in bits per second: median and its interval from batch means, the rest from the
// intervals themselves.
Summary summarize(std::span<const double> intervals);

// Collects latencies. Memory does not grow with the run: a histogram for all samples, one for the batch at
// hand, and a bounded list of batch medians.
class LatencySampler {
 public:
  void add(std::uint64_t ns) { batch_.add(ns); }
  // Ends a batch; call it a few times a second, outside the timed region.
  void end_batch();
  std::uint64_t count() const { return all_.count() + batch_.count(); }
  // Divides by two what was added, when `halve` says that round trips were added.
  Summary summary(bool halve);

 private:
  static constexpr std::size_t kMostBatches = 4096;
  Histogram all_;
  Histogram batch_;
  std::vector<double> medians_;
};

}  // namespace railbed
