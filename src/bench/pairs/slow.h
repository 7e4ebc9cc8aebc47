// Finds the slow node or the slow link among many, in three steps: rounds of pairs that are measured at the
// same time, a fit that separates slow nodes from slow links, and a retest of each suspect alone.
//
// The fit is log(bandwidth from i to j) = overall + sending(i) + receiving(j) + residual, by median polish
// (Tukey, Exploratory Data Analysis, ch. 11): a low effect is a slow node, a low residual a slow link. A
// suspect that is as fast as others when it is measured alone is cleared: the other pairs slowed it, not its
// hardware.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/pairs/pair_rounds.h"
#include "results/pairs.h"

namespace railbed {

// The bandwidth of a pair in bits per second in each direction; empty if the measurement failed.
struct PairResult {
  std::optional<double> there;  // from a to b
  std::optional<double> back;
  // Other traffic that crossed the rail meanwhile in the same direction, in bits per second.
  double other_there = 0;
  double other_back = 0;
};

// Measures the pairs of a round at the same time and returns the results in their order.
using MeasureRound = std::function<std::vector<PairResult>(const Round& round)>;

struct SlowOptions {
  // Measure the whole tournament. Otherwise ⌈log2 n⌉ rounds if there are enough nodes for the fit (8).
  bool every_pair = false;
  double tolerance = 0.1;  // a suspect is slower than the others by more than this share
};

// Runs the search. If more than a quarter of the nodes and more than four suspects are found, reports
// `too_many` and does not retest them.
SlowReport find_slow(int nodes, const MeasureRound& measure, const SlowOptions& options = {});

// The result of the fit: effects and residuals as natural logarithms. Pairs without a number take no part.
struct Polish {
  double overall = 0;
  std::vector<double> sending;
  std::vector<double> receiving;
  std::vector<double> residuals;  // one for each pair; 0 if the pair has no number
  double spread = 0;              // of the residuals, as a standard deviation (1.4826 × MAD)
};
Polish median_polish(int nodes, const std::vector<PairSpeed>& pairs);

}  // namespace railbed
