#include "report/text/compare_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/escape.h"
#include "report/text/bench_table.h"

namespace railbed {
namespace {

std::string run_text(std::string_view letter, const BenchRun& run) {
  std::string text =
      fmt::format("{}: {}", letter, run.id > 0 ? fmt::format("run {}", run.id) : "a run that is not kept");
  for (const std::string* part : {&run.label, &run.started_at, &run.command})
    if (!part->empty()) text += ", " + printable(*part);
  return text + '\n';
}

std::string value_text(const Comparison& row, double value, int repeats) {
  if (repeats == 0) return "-";
  const bool rate = row.what.metric == Metric::kBandwidth;
  return fmt::format("{} ×{}", rate ? to_text(BitRate{value}) : to_text(Nanoseconds{value}), repeats);
}

// Sizes and streams that another tool did not print are 0.
std::string size_text(std::uint64_t bytes) { return bytes == 0 ? "-" : to_text(ByteCount{bytes}); }

// Returns "1 more sitting on each side, of 3 more repeats each".
std::string more_text(int sittings, int repeats) {
  const auto of = [](int count, std::string_view what) {
    return fmt::format("{} more {}{}", count, what, count == 1 ? "" : "s");
  };
  std::string text;
  if (sittings > 0) text = of(sittings, "sitting") + " on each side";
  if (repeats > 0) text += (text.empty() ? "" : ", and ") + of(repeats, "repeat") + " in each";
  return text;
}

std::string row_text(const Comparison& row) {
  std::string text = right_aligned(size_text(row.what.message_bytes), 10) +
                     right_aligned(row.what.streams == 0 ? "-" : std::to_string(row.what.streams), 8);
  text += right_aligned(value_text(row, row.a, row.repeats_a), 16);
  text += right_aligned(value_text(row, row.b, row.repeats_b), 16);
  const bool both = row.repeats_a > 0 && row.repeats_b > 0;
  text += right_aligned(both ? fmt::format("{:.3f}", row.ratio) : "-", 8);
  text += right_aligned(row.low < row.high ? fmt::format("{:.3f}…{:.3f}", row.low, row.high) : "-", 14);
  text += "  " + std::string(enum_names(row.outcome)[static_cast<std::size_t>(row.outcome)]);
  if (!row.note.empty()) text += ": " + printable(row.note);
  if (const std::string more = more_text(row.more_sittings, row.more_repeats); !more.empty())
    text += fmt::format("{} {} would decide", row.note.empty() ? ":" : ";", more);
  return text + '\n';
}

std::string wholes_text(const CompareResult& result) {
  std::string text;
  for (const WholeComparison& whole : result.wholes) {
    Measurement of;
    of.engine = whole.engine;
    of.metric = whole.metric;
    text += fmt::format("\n{}, all {} numbers together: B ÷ A {:.3f} ({:.3f}…{:.3f}), {}", bench_name(of),
                        whole.rows, whole.ratio, whole.low, whole.high,
                        enum_names(whole.outcome)[static_cast<std::size_t>(whole.outcome)]);
  }
  if (!text.empty()) text += '\n';
  return text;
}

std::string spread_text(const CompareResult& result) {
  double least = 0;
  double most = 0;
  for (const Comparison& row : result.rows) {
    if (row.spread <= 0) continue;
    least = least > 0 ? std::min(least, row.spread) : row.spread;
    most = std::max(most, row.spread);
  }
  if (most <= 0 || !result.comparable) return {};
  const std::string by = least * 1.1 < most ? fmt::format("{:.1f} to {:.1f}", least * 100, most * 100)
                                            : fmt::format("{:.1f}", most * 100);
  const std::string from = result.earlier_sittings > 1
                               ? fmt::format("learned from {} earlier ones", result.earlier_sittings)
                               : "assumed: the history has no two earlier ones like these";
  return fmt::format("\nSittings of one system are taken to differ by {} % (standard deviation; {})\n", by,
                     from);
}

std::string subject_text(const Measurement& what) {
  const std::string ends = what.to.node.empty() ? what.from.node : what.from.node + " → " + what.to.node;
  std::string text = bench_name(what);
  for (const std::string* part : {&what.rail, &ends})
    if (!part->empty()) text += (part == &ends && !what.rail.empty() ? ": " : ", ") + *part;
  return printable(text);
}

std::string changes_text(const CompareResult& result) {
  std::string text;
  for (const Change& change : result.changes)
    text += fmt::format("  {}: {} → {}\n", printable(change.what),
                        change.a.empty() ? "nothing" : printable(change.a),
                        change.b.empty() ? "nothing" : printable(change.b));
  return text.empty() ? text : "\nNot the same in both runs:\n" + text;
}

std::string only_text(std::string_view letter, const std::vector<Measurement>& only) {
  if (only.empty()) return {};
  return fmt::format("\nOnly in {}, {} in all: {} of {}\n", letter, only.size(), subject_text(only.front()),
                     size_text(only.front().message_bytes));
}

std::string verdict_text(const CompareResult& result, const CompareOptions& options) {
  const auto count = [&](Outcome outcome) {
    return std::count_if(result.rows.begin(), result.rows.end(),
                         [&](const Comparison& row) { return row.outcome == outcome; });
  };
  const double percent = options.threshold * 100;
  if (result.rows.empty()) return "INCONCLUSIVE: the two runs measured nothing in common\n";
  if (!result.comparable) return fmt::format("INCONCLUSIVE: {}\n", printable(result.note));
  if (result.outcome == Outcome::kFail && count(Outcome::kFail) == 0)
    return fmt::format("FAIL: the {} numbers together are worse by {:.3g} % or more\n", result.rows.size(),
                       percent);
  if (result.outcome == Outcome::kFail)
    return fmt::format("FAIL: {} of {} numbers are worse by {:.3g} % or more, or gone\n",
                       count(Outcome::kFail), result.rows.size(), percent);
  if (result.outcome == Outcome::kPass)
    return fmt::format("PASS: none of {} numbers is worse by {:.3g} %\n", result.rows.size(), percent);
  int sittings = 0;
  int repeats = 0;
  for (const Comparison& row : result.rows) {
    sittings = std::max(sittings, row.more_sittings);
    repeats = std::max(repeats, row.more_repeats);
  }
  std::string text = fmt::format("INCONCLUSIVE: {} of {} numbers cannot be told apart\n",
                                 count(Outcome::kInconclusive), result.rows.size());
  if (sittings > 0)
    text += fmt::format(
        "To decide: {}; measure both states again, an hour apart or more, and name all runs of a state "
        "together: railbed compare 12,14 13,15\n",
        more_text(sittings, repeats));
  return text;
}

}  // namespace

int exit_code_of(Outcome outcome) {
  if (outcome == Outcome::kPass) return kExitClean;
  return outcome == Outcome::kFail ? kExitFailures : kExitCouldNotLook;
}

std::string compare_table(const std::vector<BenchRun>& a, const std::vector<BenchRun>& b,
                          const CompareResult& result, const CompareOptions& options) {
  std::string text;
  for (const BenchRun& run : a) text += run_text("A", run);
  for (const BenchRun& run : b) text += run_text("B", run);
  const Measurement* last = nullptr;
  for (const Comparison& row : result.rows) {
    if (last == nullptr || !same_table(*last, row.what)) {
      text += '\n' + subject_text(row.what) + '\n';
      text += right_aligned("size", 10) + right_aligned("streams", 8) + right_aligned("A", 16) +
              right_aligned("B", 16) + right_aligned("B ÷ A", 8) +
              right_aligned(fmt::format("{:.0f} %", (1 - 2 * options.false_alarms) * 100), 14) +
              "  verdict\n";
    }
    text += row_text(row);
    last = &row.what;
  }
  text += wholes_text(result) + spread_text(result);
  text += changes_text(result) + only_text("A", result.only_in_a) + only_text("B", result.only_in_b);
  if (result.comparable && !result.note.empty()) text += '\n' + printable(result.note) + '\n';
  return text + '\n' + verdict_text(result, options);
}

}  // namespace railbed
