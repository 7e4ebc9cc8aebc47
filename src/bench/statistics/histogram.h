// A histogram of non-negative integers in bounded memory. Percentiles are within 0.4 %, everything else is
// exact.
#pragma once

#include <array>
#include <cstdint>

namespace railbed {

class Histogram {
 public:
  void add(std::uint64_t value);
  void merge(const Histogram& other);
  void clear() { *this = Histogram(); }

  std::uint64_t count() const { return count_; }
  // These four are exact. All are zero if the histogram is empty.
  std::uint64_t minimum() const { return count_ == 0 ? 0 : minimum_; }
  std::uint64_t maximum() const { return maximum_; }
  double mean() const;
  double deviation() const;  // of the sample (n − 1)

  // Returns the value of this rank, 1 … count(), in ascending order: at most 0.4 % off, exact below 256.
  std::uint64_t at_rank(std::uint64_t rank) const;
  // Returns the smallest recorded value that at least `fraction` of the samples do not exceed (nearest rank),
  // with the error of at_rank().
  std::uint64_t quantile(double fraction) const;

 private:
  // Values below 2^8 have a bucket each. Every octave above is divided into 2^7 equal buckets (the layout
  // that HdrHistogram made common), so half a bucket is at most 1/256 of the value.
  static constexpr int kBits = 7;
  static constexpr std::size_t kBuckets = (64 - kBits + 1) << kBits;
  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t middle_of(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t minimum_ = UINT64_MAX;
  std::uint64_t maximum_ = 0;
  std::uint64_t sum_low_ = 0;  // sum_high_ and sum_low_: the sum in 128 bits
  std::uint64_t sum_high_ = 0;
  double running_mean_ = 0;  // Welford's recurrence, for the deviation only
  double squares_ = 0;
};

}  // namespace railbed
