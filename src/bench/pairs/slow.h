// Finding the slow node or the slow link among many: rounds of pairs measured all at once, a fit that tells a
// node from a link, and a retest of the suspects alone.
//
// The fit is log(bandwidth from i to j) = overall + sending(i) + receiving(j) + residual, by median polish
// (Tukey, Exploratory Data Analysis, ch. 11): a low effect is a node, a low residual a link. A suspect that
// is as fast as others when it is measured alone is cleared: what slowed it was company, not hardware.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/pairs/pair_rounds.h"
#include "results/pairs.h"

namespace railbed {

// Bits per second both ways; nothing where the measurement failed.
struct PairResult {
  std::optional<double> there;  // from a to b
  std::optional<double> back;
};

// Measures the pairs of a round at the same time and answers in their order.
using MeasureRound = std::function<std::vector<PairResult>(const Round& round)>;

struct SlowOptions {
  bool every_pair =
      false;  // the whole tournament; else ⌈log2 n⌉ rounds where that is enough to tell (8 nodes)
  double tolerance = 0.1;  // this share below the others is slow
};

SlowReport find_slow(int nodes, const MeasureRound& measure, const SlowOptions& options = {});

// The fit itself: effects and residuals of the pairs that have a number, as logarithms.
struct Polish {
  double overall = 0;
  std::vector<double> sending;
  std::vector<double> receiving;
  std::vector<double> residuals;  // one a pair, 0 where it has no number
  double spread = 0;              // of the residuals, as a standard deviation (1.4826 × MAD)
};
Polish median_polish(int nodes, const std::vector<PairSpeed>& pairs);

}  // namespace railbed
