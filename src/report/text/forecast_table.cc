#include "report/text/forecast_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "report/text/bench_table.h"

namespace railbed {
namespace {

constexpr std::size_t kExplanationsShown = 5;

std::string busbw_text(double bits) { return fmt::format("{:.2f}", bits / 8e9); }
std::string microseconds(double ns) { return fmt::format("{:.1f}", ns / 1e3); }

std::string way_text(Collective operation, const Forecast& forecast) {
  if (operation > Collective::kReduce) return "point to point";
  return fmt::format("{} {}", to_text(forecast.algorithm), to_text(forecast.protocol));
}

std::string sayings(const ClusterShape& shape) {
  std::string text = "\n  from:\n";
  for (const ShapeSaying& saying : shape.said)
    text += fmt::format("    {:<17} {:<28} {}\n", saying.what, printable(saying.value), saying.from);
  return text;
}

std::string assumed_line(const ClusterShape& shape) {
  std::string text;
  for (const ShapeSaying& saying : shape.said)
    if (saying.from == kAssumed)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", saying.what, saying.value);
  return text.empty() ? text : fmt::format("  assumed: {}\n", printable(text));
}

std::string rates_text(double low, double high) {
  return fmt::format("{} - {}", busbw_text(low), busbw_text(high));
}

// Returns each open question that matters at a size shown, at the largest such size, with the range of each answer.
std::string questions_of(const std::vector<ForecastRange>& ranges) {
  std::string text;
  std::set<std::string> shown;
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range)
    for (const QuestionRange& question : range->questions) {
      if (!shown.insert(question.what).second) continue;
      text += fmt::format("  {}? at {}:", question.what, to_text(ByteCount{range->bytes}));
      for (const AnswerRange& answer : question.answers)
        text += fmt::format("{} {}: {}", &answer == &question.answers.front() ? "" : ";",
                            printable(answer.value), rates_text(answer.low, answer.high));
      text += fmt::format("\n    to settle it, write {}\n", printable(question.settle));
    }
  return text;
}

}  // namespace

std::string forecast_range_table(const ClusterShape& shape, Collective operation,
                                 const std::vector<ForecastRange>& ranges, bool said) {
  std::string text = printable(fmt::format("{}: {}", to_text(operation), describe_known(shape))) + '\n';
  text += fmt::format("  {:>9}{}{:>19}  {}\n", "size", right_aligned("time, µs", 23), "busbw, low - high",
                      "what decides");
  for (const ForecastRange& range : ranges)
    text += fmt::format("  {:>9}{:>23}{:>19}  {}\n", to_text(ByteCount{range.bytes}),
                        fmt::format("{} - {}", microseconds(range.time_low), microseconds(range.time_high)),
                        rates_text(range.low, range.high), range.decides);
  if (!ranges.empty())
    text += fmt::format("  the low end is limited by {}, the high end by {}\n",
                        printable(ranges.back().low_limit), printable(ranges.back().high_limit));
  return text + questions_of(ranges) + notes_text(shape) + (said ? sayings(shape) : assumed_line(shape));
}

std::string notes_text(const ClusterShape& shape) {
  std::string text;
  for (const std::string& note : shape.notes) text += fmt::format("  note: {}\n", printable(note));
  return text;
}

std::string taken_line(const ClusterShape& shape) {
  std::string text;
  for (const OpenQuestion& question : shape.open)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", question.what,
                        printable(question.answers.front().value));
  return text.empty() ? text : fmt::format("not known, so it is assumed: {}\n", text);
}

std::string forecast_table(const ClusterShape& shape, Collective operation,
                           const std::vector<Forecast>& forecasts, bool said) {
  std::string text = printable(fmt::format("{}: {}", to_text(operation), describe(shape))) + '\n';
  text += fmt::format("  {:>9}{}{:>10}{:>10}{:>19}  {}\n", "size", right_aligned("time, µs", 12), "algbw",
                      "busbw", "busbw, 80 % band", "NCCL chooses");
  for (const Forecast& forecast : forecasts)
    text +=
        fmt::format("  {:>9}{:>12}{:>10}{:>10}{:>19}  {}\n", to_text(ByteCount{forecast.bytes}),
                    microseconds(forecast.time), busbw_text(forecast.algbw), busbw_text(forecast.busbw),
                    fmt::format("{} - {}", busbw_text(forecast.busbw_low), busbw_text(forecast.busbw_high)),
                    way_text(operation, forecast));
  if (!forecasts.empty()) {
    const Forecast& last = forecasts.back();
    text += fmt::format("  limited by {} (GB/s of busbw: {:.1f})\n    = {}\n", printable(last.limit.name),
                        last.limit.rate.gigabytes(), printable(last.limit.source));
    text += fmt::format("  latency constants of {}: {}\n", to_text(last.path), printable(last.basis));
  }
  return text + notes_text(shape) + (said ? sayings(shape) : assumed_line(shape));
}

std::string algorithms_table(const ClusterShape& shape, Collective operation,
                             const std::vector<std::uint64_t>& sizes, const ForecastChoice& choice) {
  std::string text =
      fmt::format("\nNCCL's own model ({}): what it reckons with when it chooses, not what is measured\n",
                  to_text(operation));
  for (const std::uint64_t bytes : sizes) {
    const auto estimates = tuning_estimates(tuned_for(shape, choice), operation, bytes);
    if (estimates.empty()) return text + "  it tunes neither this operation nor one GPU alone\n";
    text += fmt::format("  {}\n", to_text(ByteCount{bytes}));
    for (const TuningEstimate& estimate : estimates)
      text += fmt::format("  {} {:<10}{:<8}{:>12.1f} {}{:>10.1f} GB/s algbw\n",
                          &estimate == &estimates.front() ? '*' : ' ', to_text(estimate.algorithm),
                          to_text(estimate.protocol), estimate.time, "µs", estimate.algbw);
  }
  return text;
}

std::string check_table(const std::vector<ForecastCheck>& checks, const RunVerdict& verdict,
                        const std::vector<Finding>& explaining) {
  if (checks.empty()) return "no number of this run can be compared with a forecast\n";
  std::string text;
  std::string subject;
  for (const ForecastCheck& check : checks) {
    if (check.subject != subject) {
      subject = check.subject;
      text += fmt::format("{} ({})\n  {:>9}{:>10}{:>11}{:>10}{:>19}\n", printable(subject),
                          printable(check.source), "size", "measured", "predicted", "ratio", "80 % band");
    }
    text += fmt::format("  {:>9}{:>10}{:>11}{:>10.2f}{:>19}{}\n", to_text(ByteCount{check.bytes}),
                        busbw_text(check.measured), busbw_text(check.predicted), check.ratio,
                        fmt::format("{} - {}", busbw_text(check.low), busbw_text(check.high)),
                        check.fit == ForecastFit::kFits
                            ? ""
                            : fmt::format("  below the band: you should see {}, you see {}",
                                          busbw_text(check.predicted), busbw_text(check.measured)));
  }
  text += "rates are GB/s; of collectives busbw\n";
  for (const PooledCheck& pooled : verdict.pooled)
    if (pooled.rows > 1)
      text += fmt::format("{}: {} rows, {:.2f} of the forecast in the mean: {}\n", printable(pooled.what),
                          pooled.rows, pooled.ratio, to_text(pooled.fit));
  text += fmt::format("verdict on the run: {}\n", to_text(verdict.fit));
  if (verdict.fit == ForecastFit::kFits) return text;
  if (explaining.empty())
    text +=
        "no rule explains it from what was given: railbed verify on the nodes, or --facts of them here, would "
        "tell more\n";
  for (std::size_t i = 0; i < std::min(explaining.size(), kExplanationsShown); ++i) {
    const Finding& finding = explaining[i];
    text += fmt::format("may explain it: {} {}: {}\n", finding.rule, printable(finding.node),
                        printable(finding.message));
    if (!finding.remedy.text.empty()) text += fmt::format("    do: {}\n", printable(finding.remedy.text));
  }
  return text;
}

std::string calibration_table(const Calibration& calibration, const std::vector<MeasuredTime>& times) {
  std::string text;
  std::set<PathKind> passed;
  for (const MeasuredTime& time : times) {
    const Forecast said =
        forecast_collective(time.shape, time.operation, time.bytes, calibration, time.choice);
    passed.insert(said.path);
    passed.insert(said.bound);
    text += fmt::format("  {:<12}{:>9}{:>12} µs measured{:>12} µs fitted{:>+7.0f} %\n",
                        to_text(time.operation), to_text(ByteCount{time.bytes}), microseconds(time.time),
                        microseconds(said.time), (said.time / time.time - 1) * 100);
  }
  text += "constants:\n";
  for (const PathKind kind : passed) {
    const PathConstants& constants = calibration.of(kind);
    text += fmt::format("  {:<12} efficiency {:.3f}, start {:.2f}, ramp {:.2f} ({} rows, {})\n",
                        to_text(kind), constants.efficiency, constants.start, constants.ramp, constants.rows,
                        printable(constants.from));
  }
  return text;
}

}  // namespace railbed
