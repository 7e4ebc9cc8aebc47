// The result of comparing two runs, number by number (`railbed compare`).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "results/measurement.h"

namespace railbed {

enum class Outcome { kPass, kFail, kInconclusive };
constexpr auto enum_names(Outcome) { return std::array<std::string_view, 3>{"PASS", "FAIL", "INCONCLUSIVE"}; }

struct CompareOptions {
  double threshold = 0.03;     // a change for the worse below this share is not a regression
  double false_alarms = 0.01;  // upper bound on the share of comparisons of equal systems that end in FAIL
};

// One number in both runs.
struct Comparison {
  Measurement what;  // the first of A: names engine, metric, operation, rail, ends, size, streams
  int repeats_a = 0;
  int repeats_b = 0;
  double a = 0;  // geometric mean of the repeats' medians: bits per second or nanoseconds
  double b = 0;
  // B ÷ A and its confidence interval, of level 1 − 2 × false_alarms. All equal if there is no interval.
  double ratio = 1;
  double low = 1;
  double high = 1;
  double probability =
      1;  // p value: of a change for the worse at least this large if both systems were equal
  Outcome outcome = Outcome::kInconclusive;
  int more_repeats = 0;  // per side, to decide an INCONCLUSIVE; 0 if no number of them is likely to
  std::string note;      // why it is inconclusive, or how B failed
  FIELDS(Comparison, what, repeats_a, repeats_b, a, b, ratio, low, high, probability, outcome, more_repeats,
         note);
};

// A property of a node, or an option of the run ("asked: traffic-class"), that differs between the runs.
// Empty on a side that does not have it.
struct Change {
  std::string what;  // "gpu01 kernel"
  std::string a;
  std::string b;
  FIELDS(Change, what, a, b);
};

struct CompareResult {
  Outcome outcome = Outcome::kInconclusive;  // the worst of the rows: FAIL, then INCONCLUSIVE, then PASS
  std::vector<Comparison> rows;              // in A's order
  std::vector<Change> changes;
  std::vector<Measurement> only_in_a;  // the first of each key
  std::vector<Measurement> only_in_b;
  bool comparable = true;  // false if the runs have different options; then every row is INCONCLUSIVE
  std::string note;        // which options differ, or that a run did not record them
  FIELDS(CompareResult, outcome, rows, changes, only_in_a, only_in_b, comparable, note);
};

}  // namespace railbed
