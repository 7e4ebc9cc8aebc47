// A slow node slows all its pairs, a slow link only one: this difference separates the two. Each bandwidth,
// from i to j, is one cell of a table with a row for each sender and a column for each receiver. A cause
// multiplies a bandwidth by a factor, rather than subtracts from it, so the table holds logarithms:
//
//   log(bandwidth i → j) = overall + sending(i) + receiving(j) + residual(i, j)
//
// Median polish finds the effects. It subtracts the median of every row from that row and adds it to that
// sender's effect, then does the same with the columns, and repeats both until nothing changes. It uses
// medians because one bad cell would shift a mean, but not a median: the bad cell remains as a residual. A
// low effect is then a node that is slow in that direction; a low residual is a slow link. The spread of the
// residuals shows the effect of chance: a value within five of its own standard deviations is not a finding,
// nor is one within the tolerance. The table may have holes: only measured cells count.
//
// All pairs of a round run at the same time, so a shared switch may slow them together. Each suspect is
// therefore measured again alone, with partners that are not suspects, and is cleared if it is as fast as
// sound pairs.
#include "bench/pairs/slow.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/median.h"

namespace railbed {
namespace {

constexpr int kXorFrom = 8;  // nodes: with three partners each, one odd partner does not move a median
constexpr int kPolishSteps = 30;
constexpr double kSigmas = 5;  // an effect of this many of its own standard deviations is not chance
constexpr int kGoodPartners = 2;

double middle_of(std::vector<double> values) { return values.empty() ? 0 : median_of(std::move(values)); }

struct Cell {
  int from = 0;
  int to = 0;
  double log = 0;
};

// Does one half of a step: moves the median of each group of residuals into that group's effect.
void sweep(std::vector<double>& effects, const std::vector<std::vector<std::size_t>>& groups,
           std::vector<double>& residuals) {
  for (std::size_t group = 0; group < groups.size(); ++group) {
    std::vector<double> values;
    for (const std::size_t cell : groups[group]) values.push_back(residuals[cell]);
    const double shift = middle_of(std::move(values));
    effects[group] += shift;
    for (const std::size_t cell : groups[group]) residuals[cell] -= shift;
  }
}

double centre(std::vector<double>& effects, const std::vector<std::vector<std::size_t>>& groups) {
  std::vector<double> known;
  for (std::size_t i = 0; i < effects.size(); ++i)
    if (!groups[i].empty()) known.push_back(effects[i]);
  const double middle = middle_of(std::move(known));
  for (std::size_t i = 0; i < effects.size(); ++i)
    if (!groups[i].empty()) effects[i] -= middle;
  return middle;
}

double spread_of(const std::vector<double>& residuals) {
  std::vector<double> sizes;
  for (const double residual : residuals) sizes.push_back(std::abs(residual));
  return 1.4826 * middle_of(std::move(sizes));
}

// The search: its measurements so far, and the suspects.
class Search {
 public:
  Search(int nodes, const MeasureRound& measure, const SlowOptions& options)
      : measure_(measure), options_(options), limit_(std::log1p(-options.tolerance)) {
    report_.nodes = nodes;
  }

  SlowReport run() {
    const bool all = options_.every_pair || report_.nodes < kXorFrom;
    for (const Round& round : all ? tournament_rounds(report_.nodes) : xor_rounds(report_.nodes)) {
      const auto results = measure_(round);
      for (std::size_t i = 0; i < round.size() && i < results.size(); ++i) note(round[i], results[i]);
      ++report_.rounds;
    }
    std::vector<double> speeds;
    for (const auto& [ends, values] : met_) {
      report_.pairs.push_back({ends.first, ends.second, {}, {}});
      if (values.empty()) continue;
      double sum = 0;
      for (const double value : values) sum += value;
      report_.pairs.back().together = sum / static_cast<double>(values.size());
      speeds.push_back(*report_.pairs.back().together);
    }
    report_.together = middle_of(std::move(speeds));
    suspect();
    if (!report_.too_many) retest();
    std::stable_sort(report_.slow.begin(), report_.slow.end(),
                     [](const Slow& x, const Slow& y) { return x.share < y.share; });
    return std::move(report_);
  }

 private:
  void note(const NodePair& pair, const PairResult& result) {
    for (const auto& [ends, value] : {std::pair{std::pair{pair.a, pair.b}, result.there},
                                      std::pair{std::pair{pair.b, pair.a}, result.back}}) {
      auto& values = met_[ends];
      if (value && *value > 0) values.push_back(*value);
    }
  }

  // Puts the suspects into the report. With fewer than four nodes a slow node cannot be separated from a slow
  // link, so only links are suspected.
  void suspect() {
    suspect_silent();
    const Polish fit = median_polish(report_.nodes, report_.pairs);
    std::vector<int> cells(static_cast<std::size_t>(report_.nodes), 0);
    for (const PairSpeed& pair : report_.pairs)
      if (pair.together) ++cells[static_cast<std::size_t>(pair.from)];
    if (report_.nodes >= 4)
      for (int node = 0; node < report_.nodes; ++node)
        suspect_node(node, fit, cells[static_cast<std::size_t>(node)]);
    suspect_links(fit);
    report_.too_many = static_cast<int>(report_.slow.size()) > std::max(4, report_.nodes / 4);
  }

  void suspect_silent() {
    std::vector<int> asked(static_cast<std::size_t>(report_.nodes), 0);
    std::vector<int> answered = asked;
    for (const PairSpeed& pair : report_.pairs)
      for (const int node : {pair.from, pair.to}) {
        ++asked[static_cast<std::size_t>(node)];
        answered[static_cast<std::size_t>(node)] += pair.together.has_value();
      }
    for (int node = 0; node < report_.nodes; ++node)
      if (asked[static_cast<std::size_t>(node)] > 0 && answered[static_cast<std::size_t>(node)] == 0)
        report_.slow.push_back({SlowKind::kSilent, node, -1, 0, true});
  }

  void suspect_node(int node, const Polish& fit, int cells) {
    if (cells == 0) return;
    // The standard error of a median is 1.25 times that of a mean.
    const double chance = -kSigmas * fit.spread * 1.25 / std::sqrt(static_cast<double>(cells));
    const double below = std::min(limit_, chance);
    const double sending = fit.sending[static_cast<std::size_t>(node)];
    const double receiving = fit.receiving[static_cast<std::size_t>(node)];
    if (sending >= below && receiving >= below) return;
    const bool both = sending < below && receiving < below;
    const SlowKind kind = both              ? SlowKind::kNode
                          : sending < below ? SlowKind::kSending
                                            : SlowKind::kReceiving;
    report_.slow.push_back({kind, node, -1, std::exp(std::min(sending, receiving)), false});
  }

  void suspect_links(const Polish& fit) {
    const double below = std::min(limit_, -kSigmas * fit.spread);
    std::map<std::pair<int, int>, double> worst;
    for (std::size_t i = 0; i < report_.pairs.size(); ++i) {
      const PairSpeed& pair = report_.pairs[i];
      if (!pair.together || fit.residuals[i] >= below) continue;
      const std::pair ends{std::min(pair.from, pair.to), std::max(pair.from, pair.to)};
      worst[ends] = std::min(worst[ends], fit.residuals[i]);
    }
    for (const auto& [ends, residual] : worst)
      report_.slow.push_back({SlowKind::kLink, ends.first, ends.second, std::exp(residual), false});
  }

  // Returns at most `count` nodes that no suspicion names, without `except`.
  std::vector<int> good_nodes(int count, int except) const {
    std::set<int> named;
    for (const Slow& slow : report_.slow) named.insert({slow.node, slow.other});
    std::vector<int> good;
    for (int node = 0; node < report_.nodes && static_cast<int>(good.size()) < count; ++node)
      if (!named.contains(node) && node != except) good.push_back(node);
    return good;
  }

  // Measures both directions of a pair with no other pair running, and keeps them in the report.
  PairResult alone(int a, int b) {
    const auto results = measure_({{a, b}});
    ++report_.retests;
    const PairResult result = results.empty() ? PairResult{} : results.front();
    keep_alone(a, b, result.there);
    keep_alone(b, a, result.back);
    return result;
  }

  // Like alone(). If a direction is slower than the standard allows, measures once more and takes the better
  // value, so that a busy processor during one measurement does not make a node or a link a suspect.
  PairResult surely_alone(int a, int b, double standard) {
    const double below = standard * (1 - options_.tolerance);
    PairResult first = alone(a, b);
    if (first.there.value_or(standard) >= below && first.back.value_or(standard) >= below) return first;
    const PairResult again = alone(a, b);
    if (again.there > first.there) first.other_there = again.other_there;
    if (again.back > first.back) first.other_back = again.other_back;
    first.there = std::max(first.there, again.there);
    first.back = std::max(first.back, again.back);
    keep_alone(a, b, first.there);
    keep_alone(b, a, first.back);
    return first;
  }

  void keep_alone(int from, int to, std::optional<double> value) {
    const auto found = std::find_if(report_.pairs.begin(), report_.pairs.end(), [&](const PairSpeed& pair) {
      return pair.from == from && pair.to == to;
    });
    if (found != report_.pairs.end())
      found->alone = value;
    else
      report_.pairs.push_back({from, to, {}, value});
  }

  void retest() {
    const bool nothing = std::none_of(report_.slow.begin(), report_.slow.end(),
                                      [](const Slow& slow) { return slow.kind != SlowKind::kSilent; });
    if (nothing) return;
    const std::vector<int> good = good_nodes(2 * kGoodPartners, -1);
    std::vector<double> sound;
    for (std::size_t i = 0; i + 1 < good.size(); i += 2) {
      const PairResult result = alone(good[i], good[i + 1]);
      for (const auto& value : {result.there, result.back})
        if (value) sound.push_back(*value);
    }
    report_.alone = middle_of(sound);
    // With too few sound nodes to measure between, the median of the rounds is the only standard left.
    const double standard = sound.empty() ? report_.together : report_.alone;
    for (Slow& slow : report_.slow)
      if (slow.kind != SlowKind::kLink && slow.kind != SlowKind::kSilent) confirm_node(slow, standard);
    for (Slow& slow : report_.slow)
      if (slow.kind == SlowKind::kLink) confirm_link(slow, standard * share_of_ends(slow));
    // A link that is only as slow as its slow end is not a finding of its own.
    std::erase_if(report_.slow, [&](const Slow& slow) {
      return slow.kind == SlowKind::kLink && !slow.confirmed && share_of_ends(slow) < 1;
    });
  }

  void confirm_node(Slow& slow, double standard) {
    std::vector<double> sending;
    std::vector<double> receiving;
    std::vector<double> sending_most;  // with the other traffic
    std::vector<double> receiving_most;
    for (const int partner : good_nodes(kGoodPartners, slow.node)) {
      const PairResult result = surely_alone(slow.node, partner, standard);
      if (result.there) sending.push_back(*result.there);
      if (result.back) receiving.push_back(*result.back);
      if (result.there) sending_most.push_back(*result.there + result.other_there);
      if (result.back) receiving_most.push_back(*result.back + result.other_back);
    }
    if (standard <= 0 || (sending.empty() && receiving.empty())) return;
    const double out = sending.empty() ? 1 : middle_of(sending) / standard;
    const double in = receiving.empty() ? 1 : middle_of(receiving) / standard;
    const double below = 1 - options_.tolerance;
    const auto most_below = [&](double value, const std::vector<double>& most) {
      return value < below && middle_of(most) / standard < below;
    };
    slow.confirmed = most_below(out, sending_most) || most_below(in, receiving_most);
    slow.shared = !slow.confirmed && (out < below || in < below);
    if (!slow.confirmed) return;
    // Only the measurement alone shows clearly which direction is slow.
    slow.kind = out < below && in < below ? SlowKind::kNode
                : out < below             ? SlowKind::kSending
                                          : SlowKind::kReceiving;
    slow.share = std::min(out, in);
  }

  // Returns the share of the standard that the confirmed slow ends of a link leave; 1 if neither end is slow.
  double share_of_ends(const Slow& link) const {
    double share = 1;
    for (const Slow& slow : report_.slow)
      if (slow.kind != SlowKind::kLink && slow.confirmed &&
          (slow.node == link.node || slow.node == link.other))
        share = std::min(share, slow.share);
    return share;
  }

  void confirm_link(Slow& slow, double standard) {
    const PairResult result = surely_alone(slow.node, slow.other, standard);
    if (standard <= 0 || (!result.there && !result.back)) return;
    const double share = std::min(result.there.value_or(standard), result.back.value_or(standard)) / standard;
    const double below = standard * (1 - options_.tolerance);
    slow.confirmed = result.there.value_or(standard) + result.other_there < below ||
                     result.back.value_or(standard) + result.other_back < below;
    slow.shared = !slow.confirmed && share < 1 - options_.tolerance;
    if (slow.confirmed) slow.share = share;
  }

  const MeasureRound& measure_;
  const SlowOptions& options_;
  double limit_;  // logarithm of the highest share that is slow
  SlowReport report_;
  std::map<std::pair<int, int>, std::vector<double>> met_;
};

}  // namespace

Polish median_polish(int nodes, const std::vector<PairSpeed>& pairs) {
  Polish fit;
  const auto count = static_cast<std::size_t>(nodes);
  fit.sending.assign(count, 0);
  fit.receiving.assign(count, 0);
  fit.residuals.assign(pairs.size(), 0);
  std::vector<std::vector<std::size_t>> rows(count);
  std::vector<std::vector<std::size_t>> columns(count);
  std::vector<double> logs;
  std::vector<std::size_t> cells;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!pairs[i].together) continue;
    rows[static_cast<std::size_t>(pairs[i].from)].push_back(cells.size());
    columns[static_cast<std::size_t>(pairs[i].to)].push_back(cells.size());
    cells.push_back(i);
    logs.push_back(std::log(*pairs[i].together));
  }
  fit.overall = middle_of(logs);
  std::vector<double> residuals = logs;
  for (double& residual : residuals) residual -= fit.overall;
  for (int step = 0; step < kPolishSteps; ++step) {
    const std::vector<double> before = residuals;
    sweep(fit.sending, rows, residuals);
    fit.overall += centre(fit.sending, rows);
    sweep(fit.receiving, columns, residuals);
    fit.overall += centre(fit.receiving, columns);
    double moved = 0;
    for (std::size_t i = 0; i < residuals.size(); ++i)
      moved = std::max(moved, std::abs(residuals[i] - before[i]));
    if (moved < 1e-9) break;
  }
  for (std::size_t i = 0; i < cells.size(); ++i) fit.residuals[cells[i]] = residuals[i];
  fit.spread = spread_of(residuals);
  return fit;
}

SlowReport find_slow(int nodes, const MeasureRound& measure, const SlowOptions& options) {
  return Search(nodes, measure, options).run();
}

}  // namespace railbed
