// The result of comparing the runs of two states of a system, number by number (`railbed compare`).
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

// One number on both sides.
struct Comparison {
  Measurement what;   // the first of A: names engine, metric, operation, rail, ends, size, streams
  int repeats_a = 0;  // in all sittings together
  int repeats_b = 0;
  int sittings_a = 0;
  int sittings_b = 0;
  double a = 0;  // robust mean of the sittings, in bits per second or nanoseconds
  double b = 0;
  // B ÷ A and its confidence interval, of level 1 − 2 × false_alarms. All equal if there is no interval.
  double ratio = 1;
  double low = 1;
  double high = 1;
  double probability =
      1;  // p value: of a change for the worse at least this large if both systems were equal
  // Relative standard deviation between sittings of an unchanged system that the verdict reckons with; 0 if
  // there is no interval.
  double spread = 0;
  Outcome outcome = Outcome::kInconclusive;
  // What would decide an INCONCLUSIVE, per side; 0 if no number of them is likely to.
  int more_repeats = 0;  // in each sitting
  int more_sittings = 0;
  std::string note;  // why it is inconclusive, or how B failed
  FIELDS(Comparison, what, repeats_a, repeats_b, sittings_a, sittings_b, a, b, ratio, low, high, probability,
         spread, outcome, more_repeats, more_sittings, note);
};

// All rows of one engine and metric together: what a change of the whole system moves, in the mean of the
// rows' logarithms.
struct WholeComparison {
  Engine engine = Engine::kTcp;
  Metric metric = Metric::kBandwidth;
  int rows = 0;
  double ratio = 1;
  double low = 1;
  double high = 1;
  double probability = 1;
  double spread = 0;
  Outcome outcome = Outcome::kInconclusive;
  FIELDS(WholeComparison, engine, metric, rows, ratio, low, high, probability, spread, outcome);
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
  // The worst of the rows and the wholes: FAIL, then INCONCLUSIVE (of rows alone), then PASS.
  Outcome outcome = Outcome::kInconclusive;
  std::vector<Comparison> rows;         // in A's order
  std::vector<WholeComparison> wholes;  // of engines and metrics with two rows or more
  int earlier_sittings = 0;             // of the history, that have a row's number
  std::vector<Change> changes;
  std::vector<Measurement> only_in_a;  // the first of each key
  std::vector<Measurement> only_in_b;
  bool comparable = true;  // false if the runs have different options; then every row is INCONCLUSIVE
  std::string note;        // which options differ, or that a run did not record them
  FIELDS(CompareResult, outcome, rows, wholes, earlier_sittings, changes, only_in_a, only_in_b, comparable,
         note);
};

}  // namespace railbed
