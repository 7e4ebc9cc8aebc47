// The spread of a system's numbers: robust estimates from few numbers, and what is known of the standard
// deviation between sittings. All numbers are logarithms, so a deviation of 0.03 is 3 %.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace railbed {

// Returns the estimate of Hodges and Lehmann: the median of the means of all pairs, a number with itself
// among them. Up to 29 % of outliers do not move it far. `numbers` must not be empty. Of more than 1,000
// numbers it is the median.
double robust_mean(std::vector<double> numbers);
// Returns the variance of robust_mean() in multiples of that of one number: more than 1 ÷ count, because it
// has 3 ÷ π of the mean's efficiency.
double robust_share(std::size_t count);
// Returns the variance of median_of() in multiples of that of one number: π ÷ 2 of the mean's.
double median_share(std::size_t count);
// Returns the mean of squares of which none counts for more than `cap` times the result; 0 without squares.
double capped_mean(const std::vector<double>& squares, double cap);

// A variance that was seen between sittings of one system.
struct SpreadEvidence {
  double variance = 0;
  double freedom = 0;  // degrees of freedom; 0: nothing was seen
  double noise = 0;    // the part of `variance` that comes from the few repeats of a sitting
};

// The error of a difference between two sides.
struct DifferenceError {
  double sittings = 0;  // variance in multiples of the variance between sittings: 1/n + 1/m
  double noise = 0;     // variance from the repeats
  double noise_freedom = 0;
};

// What is known of the standard deviation between sittings: a probability for each value of a grid, at first
// that of a prior, then Bayes' rule for each piece of evidence. With much evidence tail() is that of a normal
// distribution, with little it is wide as Student's t.
class SittingSpread {
 public:
  SittingSpread();
  void learn(const SpreadEvidence& seen);
  double median() const;
  // Returns the probability that an unchanged system differs by `difference` or more, to one side.
  double tail(double difference, const DifferenceError& error) const;
  // Returns the difference with that tail, for a tail below 0.5.
  double quantile(double tail, const DifferenceError& error) const;

 private:
  static constexpr std::size_t kPoints = 49;
  std::array<double, kPoints> logs_{};     // of the probabilities, but for a constant
  std::array<double, kPoints> weights_{};  // the probabilities
  void normalize();
};

}  // namespace railbed
