// Latencies spread over five orders of magnitude, and a run makes many millions of them. So neither a list of
// all values nor buckets of equal width would do. Here the width of a bucket grows with the value
// (HdrHistogram made the layout common): below 2^8 every integer has its own bucket; above, each octave,
// [2^k, 2^(k+1)), is divided into 2^7 equal buckets. So a bucket is never wider than 1/128 of the values that
// it holds, and its middle is never off by more than 1/256, at any size, in 58 KiB. The position of the
// highest bit and the seven bits below it give the bucket: a shift, no division and no search.
//
// Two histograms are merged by adding their buckets. Minimum, maximum and sum are kept separately and are
// exact. The deviation is updated with each value by Welford's recurrence, because a sum of squares of
// nanoseconds would overflow.
#include "bench/statistics/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace railbed {

std::size_t Histogram::bucket_of(std::uint64_t value) {
  if (value < (std::uint64_t{1} << (kBits + 1))) return value;
  const int shift = std::bit_width(value) - (kBits + 1);
  return (static_cast<std::size_t>(shift) << kBits) + (value >> shift);
}

std::uint64_t Histogram::middle_of(std::size_t bucket) {
  if (bucket < (std::size_t{1} << (kBits + 1))) return bucket;
  const std::size_t shift = (bucket >> kBits) - 1;
  const std::uint64_t start = static_cast<std::uint64_t>(bucket - (shift << kBits)) << shift;
  return start + (std::uint64_t{1} << shift) / 2;
}

void Histogram::add(std::uint64_t value) {
  ++counts_[bucket_of(value)];
  ++count_;
  minimum_ = std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
  sum_low_ += value;
  sum_high_ += sum_low_ < value;
  const double x = static_cast<double>(value);
  const double before = x - running_mean_;
  running_mean_ += before / static_cast<double>(count_);
  squares_ += before * (x - running_mean_);
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  const double mine = static_cast<double>(count_);
  const double theirs = static_cast<double>(other.count_);
  // Chan, Golub and LeVeque's update of two partial variances.
  const double apart = other.running_mean_ - running_mean_;
  squares_ += other.squares_ + apart * apart * mine * theirs / (mine + theirs);
  running_mean_ += apart * theirs / (mine + theirs);
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  minimum_ = std::min(minimum_, other.minimum_);
  maximum_ = std::max(maximum_, other.maximum_);
  sum_low_ += other.sum_low_;
  sum_high_ += other.sum_high_ + (sum_low_ < other.sum_low_);
}

double Histogram::mean() const {
  if (count_ == 0) return 0;
  const auto sum = std::ldexp(static_cast<long double>(sum_high_), 64) + static_cast<long double>(sum_low_);
  return static_cast<double>(sum / static_cast<long double>(count_));
}

double Histogram::deviation() const {
  return count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

std::uint64_t Histogram::at_rank(std::uint64_t rank) const {
  if (count_ == 0) return 0;
  if (rank <= 1) return minimum_;
  if (rank >= count_) return maximum_;
  std::uint64_t seen = 0;
  for (std::size_t i = bucket_of(minimum_); i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::clamp(middle_of(i), minimum_, maximum_);
  }
  return maximum_;
}

std::uint64_t Histogram::quantile(double fraction) const {
  return at_rank(static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_))));
}

}  // namespace railbed
