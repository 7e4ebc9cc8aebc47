// For each number that both runs measured:
//
//  1. The repeats' medians, as logarithms, are two samples. Welch's t test does not assume that they have the
//     same variance: the difference of the means has the standard error √(va/na + vb/nb), with the degrees of
//     freedom of Welch and Satterthwaite.
//  2. PASS if a change for the worse as large as the threshold can be ruled out: the confidence interval of
//     the difference ends below it.
//  3. Otherwise the p value is needed: how probable is a difference like this, or a worse one, if nothing has
//     changed? Twenty numbers at 1 % (CompareOptions::false_alarms) each would raise a false alarm in every
//     fifth comparison. So the procedure of Benjamini and Hochberg selects the significant ones: sorted by p
//     value, all up to the last whose p value is at most 1 % × its rank ÷ the count.
//  4. FAIL if the change is significant and at least as large as the threshold. The rest is inconclusive,
//     with the number of further repeats that would decide it: to show a distance δ against a standard
//     deviation σ takes 2 ((z₁ + z₂) σ / δ)² repeats per side.
//
// A number that A has and B failed to measure is FAIL without arithmetic.
#include "store/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

namespace railbed {
namespace {

constexpr int kMostMoreRepeats = 1000;
// The least relative deviation that is assumed: clocks and counters have no better resolution.
constexpr double kResolution = 1e-6;
// Quantiles of the standard normal distribution: 80 % power for a decision, and its own error rate of 1 %.
constexpr double kPower = 0.8416;
constexpr double kOnePercent = 2.3263;

constexpr std::string_view kAsked = "asked: ";

struct Side {
  std::vector<double> logs;          // of the repeats' medians
  double within = 0;                 // relative half width of the first repeat's own interval
  const Failure* failure = nullptr;  // of a repeat without a number

  double mean() const {
    return std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
  }
  double variance() const {
    const double middle = mean();
    double squares = 0;
    for (const double log : logs) squares += (log - middle) * (log - middle);
    return squares / static_cast<double>(logs.size() - 1);
  }
};

// The measurements of each subject, in the run's order. Views into the run.
using BySubject = std::map<MeasuredSubject, std::vector<const Measurement*>>;

BySubject by_subject(const BenchRun& run) {
  BySubject all;
  for (const Measurement& measurement : run.measurements)
    all[measured_subject(measurement)].push_back(&measurement);
  return all;
}

Side side_of(const std::vector<const Measurement*>& repeats) {
  Side side;
  for (const Measurement* measurement : repeats) {
    if (measurement->failure) side.failure = &*measurement->failure;
    if (measurement->failure || measurement->summary.median <= 0) continue;
    if (side.logs.empty())
      side.within = (measurement->summary.high - measurement->summary.low) / 2 / measurement->summary.median;
    side.logs.push_back(std::log(measurement->summary.median));
  }
  return side;
}

// Returns the repeats per side that show a change of `distance` (in logarithms) against a standard deviation
// of `deviation`; kMostMoreRepeats + 1 if that many do not suffice.
int repeats_needed(double deviation, double distance) {
  if (distance <= 0) return kMostMoreRepeats + 1;
  const double n = 2 * std::pow((kOnePercent + kPower) * deviation / distance, 2);
  return n > kMostMoreRepeats ? kMostMoreRepeats + 1 : std::max(3, static_cast<int>(std::ceil(n)));
}

// Sets how many more repeats would decide an inconclusive row.
void say_more(Comparison& row, double deviation, double worse, double limit) {
  const int needed = repeats_needed(deviation, worse >= limit ? worse : limit - worse);
  const int have = std::min(row.repeats_a, row.repeats_b);
  row.more_repeats = needed > kMostMoreRepeats ? 0 : std::max(1, needed - have);
  if (row.more_repeats == 0) row.note = "so close to the threshold that repeats are unlikely to decide it";
}

// Sets ratio, interval, probability and, except for FAIL, the outcome.
void judge(Comparison& row, const Side& a, const Side& b, const CompareOptions& options) {
  const bool higher_is_better = row.what.metric == Metric::kBandwidth;
  const double limit = std::log1p(options.threshold);
  const double difference = b.mean() - a.mean();
  const double worse = higher_is_better ? -difference : difference;
  row.ratio = row.low = row.high = std::exp(difference);
  if (a.logs.size() < 2 || b.logs.size() < 2) {
    row.note = "one run shows nothing of the spread from run to run";
    // The half width is 1.96 standard errors; repeats spread at least as much as that.
    say_more(row, std::max({a.within, b.within, kResolution}) / 1.96, worse, limit);
    return;
  }
  const double va = std::max(a.variance(), kResolution * kResolution) / static_cast<double>(a.logs.size());
  const double vb = std::max(b.variance(), kResolution * kResolution) / static_cast<double>(b.logs.size());
  const double error = std::sqrt(va + vb);
  const double freedom =
      (va + vb) * (va + vb) /
      (va * va / static_cast<double>(a.logs.size() - 1) + vb * vb / static_cast<double>(b.logs.size() - 1));
  const double half = student_quantile(options.false_alarms, freedom) * error;
  row.low = std::exp(difference - half);
  row.high = std::exp(difference + half);
  row.probability = student_tail(worse / error, freedom);
  if (worse + half < limit) {
    row.outcome = Outcome::kPass;
    return;
  }
  const double deviation =
      std::sqrt((va * static_cast<double>(a.logs.size()) + vb * static_cast<double>(b.logs.size())) / 2);
  say_more(row, deviation, worse, limit);
}

double worse_by(const Comparison& row) {
  return row.what.metric == Metric::kBandwidth ? -std::log(row.ratio) : std::log(row.ratio);
}

// Benjamini and Hochberg (1995): with many rows, the share of false alarms among those called FAIL stays
// bounded. A significant change below the threshold is not a regression.
void call_failures(std::vector<Comparison>& rows, const CompareOptions& options) {
  std::vector<Comparison*> tested;
  for (Comparison& row : rows)
    if (row.repeats_a > 1 && row.repeats_b > 1) tested.push_back(&row);
  std::sort(tested.begin(), tested.end(),
            [](const Comparison* x, const Comparison* y) { return x->probability < y->probability; });
  std::size_t last = 0;
  for (std::size_t i = 0; i < tested.size(); ++i)
    if (tested[i]->probability <=
        options.false_alarms * static_cast<double>(i + 1) / static_cast<double>(tested.size()))
      last = i + 1;
  for (std::size_t i = 0; i < last; ++i)
    if (worse_by(*tested[i]) >= std::log1p(options.threshold)) {
      tested[i]->outcome = Outcome::kFail;
      tested[i]->more_repeats = 0;
      tested[i]->note.clear();
    }
}

std::vector<Measurement> only_in(const BenchRun& run, const BySubject& its, const BySubject& other) {
  std::vector<Measurement> only;
  for (const Measurement& what : run.measurements) {
    const MeasuredSubject subject = measured_subject(what);
    if (its.at(subject).front() == &what && !other.contains(subject)) only.push_back(what);
  }
  return only;
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
    row.more_repeats = 0;
    row.note = result.note;
  }
}

// Returns a note if a run is of an older railbed, which did not record the request.
std::string unknown_note(const BenchRun& a, const BenchRun& b) {
  if (!a.asked.empty() && !b.asked.empty()) return {};
  const std::string_view who = !a.asked.empty() ? "B does" : !b.asked.empty() ? "A does" : "A and B do";
  return fmt::format("{} not say what was asked for: compared as if the same", who);
}

Comparison compare_one(const std::vector<const Measurement*>& a, const std::vector<const Measurement*>& b,
                       const CompareOptions& options) {
  const Side before = side_of(a);
  const Side after = side_of(b);
  Comparison row;
  row.what = *a.front();
  row.repeats_a = static_cast<int>(before.logs.size());
  row.repeats_b = static_cast<int>(after.logs.size());
  if (!before.logs.empty()) row.a = std::exp(before.mean());
  if (!after.logs.empty()) row.b = std::exp(after.mean());
  if (after.failure != nullptr && before.failure == nullptr) {
    row.outcome = Outcome::kFail;
    row.note = "B has no number: " + after.failure->cause;
  } else if (before.logs.empty() || after.logs.empty()) {
    row.note =
        before.failure != nullptr ? "A has no number: " + before.failure->cause : "one side has no number";
  } else {
    judge(row, before, after, options);
  }
  return row;
}

}  // namespace

CompareResult compare(const BenchRun& a, const BenchRun& b, const CompareOptions& options) {
  CompareResult result;
  const BySubject in_a = by_subject(a);
  const BySubject in_b = by_subject(b);
  for (const Measurement& measurement : a.measurements) {
    const auto& repeats = in_a.at(measured_subject(measurement));
    const auto there = in_b.find(measured_subject(measurement));
    if (repeats.front() == &measurement && there != in_b.end())
      result.rows.push_back(compare_one(repeats, there->second, options));
  }
  call_failures(result.rows, options);
  const bool known = !a.asked.empty() && !b.asked.empty();
  if (known) result.changes = differences_of(a.asked, b.asked, std::string(kAsked));
  result.note = unknown_note(a, b);
  if (!result.changes.empty()) withhold(result, names_of(result.changes));
  std::ranges::move(differences_of(a.fingerprint, b.fingerprint, ""), std::back_inserter(result.changes));
  result.only_in_a = only_in(a, in_a, in_b);
  result.only_in_b = only_in(b, in_b, in_a);
  const auto any = [&](Outcome outcome) {
    return std::any_of(result.rows.begin(), result.rows.end(),
                       [&](const Comparison& row) { return row.outcome == outcome; });
  };
  if (any(Outcome::kFail))
    result.outcome = Outcome::kFail;
  else if (!result.rows.empty() && !any(Outcome::kInconclusive))
    result.outcome = Outcome::kPass;
  return result;
}

}  // namespace railbed
