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

#include "bench/rounds.h"

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

struct PairSpeed {
  int from = 0;
  int to = 0;
  std::optional<double> together;  // while the round's other pairs ran; the mean where a pair met twice
  std::optional<double> alone;     // retested by itself
  static void fields(auto&& field) {
    field("from", &PairSpeed::from);
    field("to", &PairSpeed::to);
    field("together", &PairSpeed::together);
    field("alone", &PairSpeed::alone);
  }
};

enum class SlowKind { kNode, kSending, kReceiving, kLink, kSilent };
constexpr auto enum_names(SlowKind) {
  return std::array<std::string_view, 5>{"node", "sending", "receiving", "link", "silent"};
}

struct Slow {
  SlowKind kind = SlowKind::kNode;
  int node = 0;            // of a link: one end
  int other = -1;          // of a link: the other end
  double share = 0;        // of what the others reach: 0.26
  bool confirmed = false;  // slow alone, too; kSilent is not retested
  static void fields(auto&& field) {
    field("kind", &Slow::kind);
    field("node", &Slow::node);
    field("other", &Slow::other);
    field("share", &Slow::share);
    field("confirmed", &Slow::confirmed);
  }
};

struct SlowReport {
  int nodes = 0;
  int rounds = 0;
  int retests = 0;               // pairs measured alone
  double together = 0;           // median of all pairs, bits per second
  double alone = 0;              // of the retested pairs nobody suspects; 0 when nothing was retested
  std::vector<PairSpeed> pairs;  // every direction that was asked for
  std::vector<Slow> slow;        // the worst first
  bool too_many =
      false;  // so many differ that "the others" have no meaning; nothing is retested, nobody confirmed
  static void fields(auto&& field) {
    field("nodes", &SlowReport::nodes);
    field("rounds", &SlowReport::rounds);
    field("retests", &SlowReport::retests);
    field("together", &SlowReport::together);
    field("alone", &SlowReport::alone);
    field("pairs", &SlowReport::pairs);
    field("slow", &SlowReport::slow);
    field("too_many", &SlowReport::too_many);
  }
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
