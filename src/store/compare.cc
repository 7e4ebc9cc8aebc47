// For each number that both sides measured, in logarithms, because effects on a machine multiply:
//
//  1. A sitting's number is the median of its repeats, a side's the robust mean of its sittings. Its
//     variance has a part that the sittings share out among them and one that the repeats do.
//  2. The part between sittings has a prior (store/spread.h). It learns from the differences of successive
//     earlier sittings on like nodes, which a lasting change enters only once, from the sittings of each
//     side, and, with little weight, from the other numbers of the same kind.
//  3. PASS if a change for the worse as large as the threshold can be ruled out: the confidence interval of
//     the difference ends below it.
//  4. Otherwise the p value is needed: how probable is a difference like this, or a worse one, if nothing has
//     changed? All rows together raise a false alarm with at most half of CompareOptions::false_alarms,
//     by Holm's procedure. The other half is for the wholes: the mean of all rows of an engine and metric is
//     a number of its own, with a spread of its own, which shows a change that all rails share.
//  5. FAIL if the change is significant and at least as large as the threshold. The rest is inconclusive,
//     with the number of further sittings and repeats that would decide it.
//
// A number that A has and B failed to measure is FAIL without arithmetic.
#include "store/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/median.h"
#include "base/student.h"
#include "store/sittings.h"
#include "store/spread.h"

namespace railbed {
namespace {

constexpr int kMostMoreRepeats = 1000;
constexpr int kMostMoreSittings = 30;
// The least relative deviation that is assumed: clocks and counters have no better resolution.
constexpr double kResolution = 1e-6;
// The quantile of the standard normal distribution for 80 % power.
constexpr double kPower = 0.8416;
// No repeat counts for more than 2.5 deviations, no sitting for more than 4: outliers shall not hide what the
// others show.
constexpr double kRepeatCap = 2.5 * 2.5;
constexpr double kSittingCap = 4.0 * 4.0;
// The other numbers of a kind count as so many degrees of freedom at most: they are alike, not the same.
constexpr double kMostOfKind = 4;

constexpr std::string_view kAsked = "asked: ";

// One sitting's number.
struct Level {
  double log = 0;
  double noise = 0;  // the variance that its few repeats leave
  double usual = 0;  // the same of a sitting whose repeats spread as those of the others do
  int repeats = 0;
};

// All that is known of one number, or of the mean of several.
struct Series {
  std::vector<Level> a;
  std::vector<Level> b;
  std::vector<std::vector<Level>> earlier;  // stretches of sittings on like nodes, in order of time
  double within = 0;                        // variance of one repeat
  double within_freedom = 0;
};

struct Sides {
  std::vector<Sitting> a;
  std::vector<Sitting> b;
  std::vector<Sitting> earlier;
};

bool is_run_of(const BenchRun& run, const std::vector<BenchRun>& side) {
  return std::ranges::any_of(side, [&](const BenchRun& other) {
    return run.id == other.id && run.started_at == other.started_at && run.command == other.command;
  });
}

std::vector<const BenchRun*> pointers_to(const std::vector<BenchRun>& runs) {
  std::vector<const BenchRun*> pointers;
  for (const BenchRun& run : runs) pointers.push_back(&run);
  return pointers;
}

// Returns the variance of one repeat by the quartiles of a sitting's, which show a sitting that jumps between
// two values; 0 for fewer than three. An interquartile range of normal numbers is 1.349 deviations.
double by_quartiles(std::vector<double> repeats) {
  if (repeats.size() < 3) return 0;
  std::ranges::sort(repeats);
  const std::size_t lower = repeats.size() / 4;
  return std::pow((repeats[repeats.size() - 1 - lower] - repeats[lower]) / 1.349, 2);
}

Level level_of(const std::vector<double>& repeats, double within) {
  const double one = std::max(within, by_quartiles(repeats));
  const double share = median_share(repeats.size());
  return {median_of(repeats), one * share, within * share, static_cast<int>(repeats.size())};
}

// A subject's repeats in each sitting that has it.
using SittingRepeats = std::vector<const std::vector<double>*>;

SittingRepeats repeats_of(const MeasuredSubject& subject, const std::vector<Sitting>& sittings) {
  SittingRepeats all;
  for (const Sitting& sitting : sittings)
    if (const auto found = sitting.repeats.find(subject); found != sitting.repeats.end())
      all.push_back(&found->second);
  return all;
}

// Sets the variance of one repeat: the squared deviations within the sittings, each scaled to estimate it.
void set_within(Series& series, const std::vector<SittingRepeats>& all) {
  std::vector<double> squares;
  for (const SittingRepeats& sittings : all)
    for (const std::vector<double>* repeats : sittings) {
      if (repeats->size() < 2) continue;
      const double middle = median_of(*repeats);
      const auto count = static_cast<double>(repeats->size());
      for (const double log : *repeats) squares.push_back(std::pow(log - middle, 2) * count / (count - 1));
      series.within_freedom += count - 1;
    }
  series.within = capped_mean(squares, kRepeatCap);
}

// Splits the earlier sittings that have a number, as `level_in` returns it, into stretches on like nodes.
template <class LevelIn>
void add_earlier(Series& series, const std::vector<Sitting>& sittings, const LevelIn& level_in) {
  const Sitting* before = nullptr;
  for (const Sitting& sitting : sittings) {
    const std::optional<Level> level = level_in(sitting);
    if (!level) continue;
    if (before == nullptr || !of_like_nodes(*before, sitting)) series.earlier.emplace_back();
    series.earlier.back().push_back(*level);
    before = &sitting;
  }
}

Series series_of(const MeasuredSubject& subject, const Sides& sides) {
  Series series;
  const SittingRepeats a = repeats_of(subject, sides.a);
  const SittingRepeats b = repeats_of(subject, sides.b);
  set_within(series, {a, b, repeats_of(subject, sides.earlier)});
  for (const std::vector<double>* repeats : a) series.a.push_back(level_of(*repeats, series.within));
  for (const std::vector<double>* repeats : b) series.b.push_back(level_of(*repeats, series.within));
  add_earlier(series, sides.earlier, [&](const Sitting& sitting) -> std::optional<Level> {
    const auto found = sitting.repeats.find(subject);
    if (found == sitting.repeats.end()) return std::nullopt;
    return level_of(found->second, series.within);
  });
  return series;
}

// Returns the series of the mean of several subjects, from the sittings that have all of them.
Series series_of_mean(const std::vector<MeasuredSubject>& subjects,
                      const std::map<MeasuredSubject, Series>& all, const Sides& sides) {
  Series mean;
  const auto count = static_cast<double>(subjects.size());
  const auto level_in = [&](const Sitting& sitting) -> std::optional<Level> {
    Level level;
    for (const MeasuredSubject& subject : subjects) {
      const auto found = sitting.repeats.find(subject);
      if (found == sitting.repeats.end()) return std::nullopt;
      const Level one = level_of(found->second, all.at(subject).within);
      level.log += one.log / count;
      level.noise += one.noise / count / count;
      level.usual += one.usual / count / count;
      level.repeats = one.repeats;
    }
    return level;
  };
  for (const Sitting& sitting : sides.a)
    if (const auto level = level_in(sitting)) mean.a.push_back(*level);
  for (const Sitting& sitting : sides.b)
    if (const auto level = level_in(sitting)) mean.b.push_back(*level);
  add_earlier(mean, sides.earlier, level_in);
  for (const MeasuredSubject& subject : subjects) mean.within_freedom += all.at(subject).within_freedom;
  return mean;
}

double middle_of(const std::vector<Level>& levels) {
  std::vector<double> logs;
  for (const Level& level : levels) logs.push_back(level.log);
  return robust_mean(logs);
}

// Returns what the sittings of a series show: earlier ones by the differences of successive ones (von
// Neumann), whose degrees of freedom are 2 (n − 1)² ÷ (3 n − 4), and those of a side by their deviations.
SpreadEvidence evidence_of(const Series& series) {
  SpreadEvidence seen;
  std::vector<double> squares;
  double levels = 0;
  const auto add_levels = [&](const std::vector<Level>& of) {
    for (const Level& level : of) seen.noise += level.usual;
    levels += static_cast<double>(of.size());
  };
  for (const auto& stretch : series.earlier) {
    if (stretch.size() < 2) continue;
    const auto n = static_cast<double>(stretch.size());
    seen.freedom += 2 * (n - 1) * (n - 1) / (3 * n - 4);
    for (std::size_t i = 1; i < stretch.size(); ++i)
      squares.push_back(std::pow(stretch[i].log - stretch[i - 1].log, 2) / 2);
    add_levels(stretch);
  }
  for (const auto* side : {&series.a, &series.b}) {
    if (side->size() < 2) continue;
    const auto n = static_cast<double>(side->size());
    const double middle = middle_of(*side);
    seen.freedom += n - 1;
    for (const Level& level : *side) squares.push_back(std::pow(level.log - middle, 2) * n / (n - 1));
    add_levels(*side);
  }
  seen.variance = capped_mean(squares, kSittingCap);
  if (levels > 0) seen.noise /= levels;
  return seen;
}

using Kind = std::tuple<Engine, Metric, std::string_view>;  // the last is the operation

Kind kind_of(const MeasuredSubject& subject) {
  return {std::get<0>(subject), std::get<1>(subject), std::get<2>(subject)};
}

// The numbers of one kind together.
struct KindEvidence {
  SpreadEvidence sum;  // of variances × 1, of degrees of freedom, of noises
  int count = 0;
  void add(const SpreadEvidence& one, int sign) {
    if (one.freedom <= 0) return;
    sum.variance += sign * one.variance;
    sum.freedom += sign * one.freedom;
    sum.noise += sign * one.noise;
    count += sign;
  }
  // The subjects of a sitting share its state, so many of them show no more than one does.
  SpreadEvidence mean() const {
    if (count < 1) return {};
    return {std::max(0.0, sum.variance / count), std::min(kMostOfKind, sum.freedom / count),
            std::max(0.0, sum.noise / count)};
  }
};

// What a verdict on one series rests on.
struct Basis {
  const Series* series = nullptr;
  SittingSpread spread;
  DifferenceError error;
  bool known = false;  // repeats or sittings show some spread
  double difference = 0;
  double worse = 0;  // positive: for the worse
};

DifferenceError error_of(const Series& series) {
  DifferenceError error{0, kResolution * kResolution, series.within_freedom};
  for (const auto* side : {&series.a, &series.b}) {
    const double share = robust_share(side->size());
    error.sittings += share;
    for (const Level& level : *side) error.noise += level.noise * share / static_cast<double>(side->size());
  }
  return error;
}

Basis basis_of(const Series& series, Metric metric, const SpreadEvidence& kind) {
  Basis basis;
  basis.series = &series;
  const SpreadEvidence own = evidence_of(series);
  basis.spread.learn(kind);
  basis.spread.learn(own);
  basis.error = error_of(series);
  basis.known = own.freedom + kind.freedom + series.within_freedom > 0;
  basis.difference = middle_of(series.b) - middle_of(series.a);
  basis.worse = metric == Metric::kBandwidth ? -basis.difference : basis.difference;
  return basis;
}

// Sets ratio, interval, probability, spread and, except for FAIL, the outcome, of a row or a whole.
template <class Row>
void judge(Row& row, const Basis& basis, const CompareOptions& options) {
  row.ratio = row.low = row.high = std::exp(basis.difference);
  if (!basis.known) return;
  const double half = basis.spread.quantile(options.false_alarms, basis.error);
  row.low = std::exp(basis.difference - half);
  row.high = std::exp(basis.difference + half);
  row.probability = basis.spread.tail(basis.worse, basis.error);
  row.spread = basis.spread.median();
  if (basis.worse + half < std::log1p(options.threshold)) row.outcome = Outcome::kPass;
}

// Returns how many more sittings on each side would decide with a power of 80 % if they are like those that
// there are; 0 if kMostMoreSittings do not suffice.
int sittings_needed(const Basis& basis, double probability, const CompareOptions& options) {
  const double limit = std::log1p(options.threshold);
  const double distance = basis.worse >= limit ? basis.worse : limit - basis.worse;
  const double wanted = basis.worse >= limit ? probability : options.false_alarms;
  const Series& series = *basis.series;
  const auto have = std::min(series.a.size(), series.b.size());
  const auto most = std::max(series.a.size(), series.b.size());
  const double deviation = basis.spread.median();
  const double noise = basis.error.noise / basis.error.sittings;  // of one sitting
  for (std::size_t n = most + (have == most ? 1 : 0); n <= most + kMostMoreSittings; n += 1 + n / 4) {
    const auto more = static_cast<double>(2 * n - series.a.size() - series.b.size());
    SittingSpread then = basis.spread;
    then.learn({deviation * deviation + noise, more, noise});
    const double share = 2 * robust_share(n);
    const double margin = kPower * std::sqrt(share * (deviation * deviation + noise));
    if (distance > margin &&
        then.tail(distance - margin, {share, noise * share, basis.error.noise_freedom}) <= wanted)
      return static_cast<int>(n - have);
  }
  return 0;
}

// Returns how many more repeats in each sitting make their part of the variance as small as that between
// sittings; 0 if it is already, or if no sane number of them does.
int repeats_needed(const Basis& basis) {
  const double repeats = basis.error.noise / basis.error.sittings;
  const double sittings = std::pow(basis.spread.median(), 2);
  if (repeats <= sittings) return 0;
  const Level& level = basis.series->a.front();
  const double more = std::ceil((repeats / sittings - 1) * level.repeats);
  return more > kMostMoreRepeats ? 0 : static_cast<int>(more);
}

// Sets what would decide an inconclusive row, and why it is inconclusive.
void advise(Comparison& row, const Basis& basis, double probability, const CompareOptions& options) {
  if (!basis.known) {
    row.note = "one measurement on each side shows nothing of the spread";
    row.more_repeats = 2;
    row.more_sittings = 1;
    return;
  }
  row.more_sittings = sittings_needed(basis, probability, options);
  row.more_repeats = repeats_needed(basis);
  if (row.more_sittings == 0) {
    row.more_repeats = 0;
    row.note = "so close to the threshold that more sittings are unlikely to decide it";
    return;
  }
  const bool beyond_repeats = basis.worse >= std::log1p(options.threshold) && basis.error.noise_freedom > 0 &&
                              student_tail(basis.worse / std::sqrt(basis.error.noise),
                                           basis.error.noise_freedom) <= options.false_alarms;
  if (beyond_repeats)
    row.note =
        "more than the repeats of one sitting differ by, but two sittings of one system may differ so, too";
}

// Returns which of the p values are significant by Holm's procedure: in their order, the i-th smallest of n
// is compared with level ÷ (n − i), up to the first that is not.
std::vector<bool> holm(const std::vector<double>& probabilities, double level) {
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return probabilities[i]; });
  std::vector<bool> significant(probabilities.size(), false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (probabilities[order[i]] > level / static_cast<double>(order.size() - i)) break;
    significant[order[i]] = true;
  }
  return significant;
}

std::vector<Change> differences_of(const std::map<std::string, std::string>& a,
                                   const std::map<std::string, std::string>& b, const std::string& prefix) {
  std::vector<Change> changes;
  for (const auto& [what, text] : a) {
    const auto found = b.find(what);
    const std::string now = found == b.end() ? "" : found->second;
    if (now != text) changes.push_back({prefix + what, text, now});
  }
  for (const auto& [what, text] : b)
    if (!a.contains(what)) changes.push_back({prefix + what, "", text});
  return changes;
}

// Returns text such as "traffic-class 104 in A, 0 in B".
std::string names_of(const std::vector<Change>& asked) {
  constexpr std::size_t kNamed = 3;
  constexpr std::size_t kLongest = 80;  // the text is repeated in every row
  const auto part = [](const std::string& text) {
    return text.size() > kLongest ? text.substr(0, kLongest) + "…" : text;
  };
  const auto value = [&](const std::string& text) { return text.empty() ? "nothing" : part(text); };
  std::string text;
  for (std::size_t i = 0; i < std::min(asked.size(), kNamed); ++i)
    text += fmt::format("{}{} {} in A, {} in B", i == 0 ? "" : "; ",
                        part(asked[i].what.substr(kAsked.size())), value(asked[i].a), value(asked[i].b));
  return asked.size() > kNamed ? text + fmt::format("; and {} more", asked.size() - kNamed) : text;
}

// Makes all rows inconclusive: numbers with different requests are shown side by side without a verdict.
void withhold(CompareResult& result, const std::string& why) {
  result.comparable = false;
  result.note = "not asked for the same: " + why;
  for (Comparison& row : result.rows) {
    row.outcome = Outcome::kInconclusive;
    row.more_repeats = row.more_sittings = 0;
    row.note = result.note;
  }
  result.wholes.clear();
}

// Returns a note if a run is of an older railbed, which did not record the request.
std::string unknown_note(const BenchRun& a, const BenchRun& b) {
  if (!a.asked.empty() && !b.asked.empty()) return {};
  const std::string_view who = !a.asked.empty() ? "B does" : !b.asked.empty() ? "A does" : "A and B do";
  return fmt::format("{} not say what was asked for: compared as if the same", who);
}

// The measurements of a side by subject, and its subjects in the order of its runs.
struct SideRows {
  std::map<MeasuredSubject, std::vector<const Measurement*>> repeats;
  std::vector<MeasuredSubject> order;

  explicit SideRows(const std::vector<BenchRun>& runs) {
    for (const BenchRun& run : runs)
      for (const Measurement& measurement : run.measurements) {
        auto& of = repeats[measured_subject(measurement)];
        if (of.empty()) order.push_back(measured_subject(measurement));
        of.push_back(&measurement);
      }
  }
  const Failure* failure_of(const MeasuredSubject& subject) const {
    const Failure* failure = nullptr;
    for (const Measurement* measurement : repeats.at(subject))
      if (measurement->failure) failure = &*measurement->failure;
    return failure;
  }
};

std::vector<Measurement> only_in(const SideRows& side, const SideRows& other) {
  std::vector<Measurement> only;
  for (const MeasuredSubject& subject : side.order)
    if (!other.repeats.contains(subject)) only.push_back(*side.repeats.at(subject).front());
  return only;
}

int repeats_in(const std::vector<Level>& levels) {
  return std::accumulate(levels.begin(), levels.end(), 0,
                         [](int sum, const Level& level) { return sum + level.repeats; });
}

Comparison row_of(const MeasuredSubject& subject, const Series& series, const SideRows& a,
                  const SideRows& b) {
  Comparison row;
  row.what = *a.repeats.at(subject).front();
  row.repeats_a = repeats_in(series.a);
  row.repeats_b = repeats_in(series.b);
  row.sittings_a = static_cast<int>(series.a.size());
  row.sittings_b = static_cast<int>(series.b.size());
  if (!series.a.empty()) row.a = std::exp(middle_of(series.a));
  if (!series.b.empty()) row.b = std::exp(middle_of(series.b));
  const Failure* before = a.failure_of(subject);
  const Failure* after = b.failure_of(subject);
  if (after != nullptr && before == nullptr) {
    row.outcome = Outcome::kFail;
    row.note = "B has no number: " + after->cause;
  } else if (series.a.empty() || series.b.empty()) {
    row.note = before != nullptr ? "A has no number: " + before->cause : "one side has no number";
  }
  return row;
}

// Returns the text of the other traffic that can be why B is worse than A; empty if it cannot be: then a number of
// B is worse without it.
std::string traffic_that_explains(const Comparison& row, const std::vector<const Measurement*>& b,
                                  const CompareOptions& options) {
  std::string text;
  for (const Measurement* measurement : b) {
    const bool bandwidth = measurement->metric == Metric::kBandwidth;
    const double wanted = bandwidth ? row.a * (1 - options.threshold) : row.a * (1 + options.threshold);
    const double median = measurement->summary.median;
    if (measurement->failure || (bandwidth ? median >= wanted : median <= wanted)) continue;
    if (bandwidth ? !may_lack_for_traffic(*measurement, BitRate{wanted})
                  : !may_be_late_for_traffic(*measurement))
      return "";
    text = traffic_text(*measurement);
  }
  return text;
}

// Judges the rows and wholes of two sides.
class Judgement {
 public:
  Judgement(const Sides& sides, const SideRows& a, const SideRows& b, const CompareOptions& options)
      : sides_(sides), a_(a), b_(b), options_(options) {
    std::set<MeasuredSubject> subjects;
    for (const auto* of : {&sides.a, &sides.b, &sides.earlier})
      for (const Sitting& sitting : *of)
        for (const auto& [subject, repeats] : sitting.repeats) subjects.insert(subject);
    for (const MeasuredSubject& subject : subjects) {
      const Series& series = series_[subject] = series_of(subject, sides);
      kinds_[kind_of(subject)].add(evidence_of(series), 1);
    }
  }

  void add_to(CompareResult& result) {
    std::vector<MeasuredSubject> judged;
    std::vector<std::size_t> rows;
    for (const MeasuredSubject& subject : a_.order) {
      if (!b_.repeats.contains(subject)) continue;
      const Series& series = series_[subject];
      result.rows.push_back(row_of(subject, series, a_, b_));
      if (result.rows.back().outcome == Outcome::kFail || series.a.empty() || series.b.empty()) continue;
      Comparison& row = result.rows.back();
      if (const auto traffic = traffic_that_explains(row, b_.repeats.at(subject), options_);
          !traffic.empty()) {
        row.ratio = row.low = row.high = row.b / row.a;
        row.note = "in B " + traffic + ": measure again when the rail is idle";
        row.more_repeats = 1;
        continue;
      }
      judged.push_back(subject);
      rows.push_back(result.rows.size() - 1);
    }
    add_wholes(result, judged);
    judge_rows(result, judged, rows);
  }

 private:
  double level(const CompareResult& result) const {
    return result.wholes.empty() ? options_.false_alarms : options_.false_alarms / 2;
  }

  void add_wholes(CompareResult& result, const std::vector<MeasuredSubject>& judged) {
    std::map<std::pair<Engine, Metric>, std::vector<MeasuredSubject>> groups;
    for (const MeasuredSubject& subject : judged)
      groups[{std::get<0>(subject), std::get<1>(subject)}].push_back(subject);
    std::vector<double> probabilities;
    std::vector<double> worse;
    for (const auto& [of, subjects] : groups) {
      if (subjects.size() < 2) continue;
      const Series series = series_of_mean(subjects, series_, sides_);
      if (series.a.empty() || series.b.empty()) continue;
      const Basis basis = basis_of(series, of.second, {});
      WholeComparison whole;
      whole.engine = of.first;
      whole.metric = of.second;
      whole.rows = static_cast<int>(subjects.size());
      judge(whole, basis, options_);
      result.wholes.push_back(whole);
      probabilities.push_back(whole.probability);
      worse.push_back(basis.worse);
    }
    const std::vector<bool> significant = holm(probabilities, level(result));
    for (std::size_t i = 0; i < significant.size(); ++i)
      if (significant[i] && worse[i] >= std::log1p(options_.threshold))
        result.wholes[i].outcome = Outcome::kFail;
  }

  void judge_rows(CompareResult& result, const std::vector<MeasuredSubject>& judged,
                  const std::vector<std::size_t>& rows) {
    std::vector<Basis> bases;
    std::vector<double> probabilities;
    for (std::size_t i = 0; i < judged.size(); ++i) {
      const Series& series = series_[judged[i]];
      KindEvidence others = kinds_[kind_of(judged[i])];
      others.add(evidence_of(series), -1);
      bases.push_back(basis_of(series, std::get<1>(judged[i]), others.mean()));
      judge(result.rows[rows[i]], bases[i], options_);
      probabilities.push_back(result.rows[rows[i]].probability);
    }
    const std::vector<bool> significant = holm(probabilities, level(result));
    for (std::size_t i = 0; i < judged.size(); ++i) {
      Comparison& row = result.rows[rows[i]];
      if (significant[i] && bases[i].worse >= std::log1p(options_.threshold)) row.outcome = Outcome::kFail;
      if (row.outcome == Outcome::kInconclusive)
        advise(row, bases[i], level(result) / static_cast<double>(judged.size()), options_);
    }
  }

  const Sides& sides_;
  const SideRows& a_;
  const SideRows& b_;
  const CompareOptions& options_;
  std::map<MeasuredSubject, Series> series_;
  std::map<Kind, KindEvidence> kinds_;
};

Sides sides_of(const std::vector<BenchRun>& a, const std::vector<BenchRun>& b,
               const std::vector<BenchRun>& earlier) {
  Sides sides{sittings_of(pointers_to(a)), sittings_of(pointers_to(b)), {}};
  std::vector<const BenchRun*> others;
  for (const BenchRun& run : earlier)
    if (run.asked == b.front().asked && !is_run_of(run, a) && !is_run_of(run, b)) others.push_back(&run);
  sides.earlier = sittings_of(others);
  return sides;
}

int with_rows_of(const std::vector<Sitting>& sittings, const SideRows& a, const SideRows& b) {
  return static_cast<int>(std::ranges::count_if(sittings, [&](const Sitting& sitting) {
    return std::ranges::any_of(sitting.repeats, [&](const auto& number) {
      return a.repeats.contains(number.first) && b.repeats.contains(number.first);
    });
  }));
}

// Returns the options in which the runs of both sides differ from A's first run.
std::vector<Change> asked_differently(const std::vector<BenchRun>& a, const std::vector<BenchRun>& b) {
  for (const auto* side : {&b, &a})
    for (const BenchRun& run : *side)
      if (!run.asked.empty() && !a.front().asked.empty() && run.asked != a.front().asked)
        return differences_of(a.front().asked, run.asked, std::string(kAsked));
  return {};
}

Outcome worst_of(const CompareResult& result) {
  const auto any = [&](Outcome outcome) {
    return std::ranges::any_of(result.rows, [&](const Comparison& row) { return row.outcome == outcome; });
  };
  const bool whole = std::ranges::any_of(
      result.wholes, [](const WholeComparison& of) { return of.outcome == Outcome::kFail; });
  if (whole || any(Outcome::kFail)) return Outcome::kFail;
  return result.rows.empty() || any(Outcome::kInconclusive) ? Outcome::kInconclusive : Outcome::kPass;
}

}  // namespace

CompareResult compare(const std::vector<BenchRun>& a, const std::vector<BenchRun>& b,
                      const std::vector<BenchRun>& earlier, const CompareOptions& options) {
  CompareResult result;
  const SideRows in_a(a);
  const SideRows in_b(b);
  const Sides sides = sides_of(a, b, earlier);
  result.earlier_sittings = with_rows_of(sides.earlier, in_a, in_b);
  Judgement(sides, in_a, in_b, options).add_to(result);
  result.changes = asked_differently(a, b);
  result.note = unknown_note(a.front(), b.front());
  if (!result.changes.empty()) withhold(result, names_of(result.changes));
  std::ranges::move(differences_of(a.back().fingerprint, b.back().fingerprint, ""),
                    std::back_inserter(result.changes));
  result.only_in_a = only_in(in_a, in_b);
  result.only_in_b = only_in(in_b, in_a);
  result.outcome = worst_of(result);
  return result;
}

}  // namespace railbed
