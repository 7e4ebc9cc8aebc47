#include "report/text/train_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/escape.h"
#include "report/text/bench_table.h"

namespace railbed {
namespace {

// Returns "1.24 GB", decimal like rates.
std::string decimal_text(std::uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  return value >= 1e9 ? fmt::format("{:.3g} GB", value / 1e9) : fmt::format("{:.3g} MB", value / 1e6);
}

std::string flops_text(double flops) {
  return flops >= 1e12 ? fmt::format("{:.3g} TFLOP/s", flops / 1e12)
                       : fmt::format("{:.3g} GFLOP/s", flops / 1e9);
}

std::string rate_count_text(double count) {
  return count < 1e3 ? fmt::format("{:.3g}", count) : fmt::format("{:.0f}", count);
}

std::string parameters_text(std::uint64_t count) {
  const double value = static_cast<double>(count);
  return value >= 1e9 ? fmt::format("{:.3g} billion", value / 1e9)
                      : fmt::format("{:.3g} million", value / 1e6);
}

// Returns "gpu01 ×2, gpu02 ×2".
std::string nodes_text(const std::vector<std::string>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t end = i;
    while (end < nodes.size() && nodes[end] == nodes[i]) ++end;
    text += (text.empty() ? "" : ", ") + nodes[i] + (end - i > 1 ? fmt::format(" ×{}", end - i) : "");
    i = end;
  }
  return text;
}

std::string row(std::string_view name, const Summary& seconds, const std::string& remark) {
  std::string text = fmt::format("  {:<20}", name) + right_aligned(seconds_text(seconds.median), 11);
  text +=
      right_aligned(fmt::format("±{:.1f} %", (seconds.high - seconds.low) / 2 / seconds.median * 100), 10);
  text += right_aligned(seconds_text(seconds.minimum), 11) + right_aligned(seconds_text(seconds.maximum), 11);
  return text + (remark.empty() ? "" : "  " + remark) + '\n';
}

// Returns which parts were real and which were simulated.
std::string means_text(const TrainReport& report) {
  if (!report.on_gpus)
    return fmt::format(
        "  rehearsed on CPUs: compute is simulated at {} a rank; "
        "gradients are really exchanged\n",
        flops_text(report.flops_per_second));
  std::string text = "  computed by " + printable(report.compute_kind);
  if (report.flops_per_second > 0) text += fmt::format(": {} a GPU", flops_text(report.flops_per_second));
  if (report.flops_per_second > 0 && report.peak_flops > 0)
    text += fmt::format(", {:.0f} % of {} (data sheet)", 100 * report.flops_per_second / report.peak_flops,
                        flops_text(report.peak_flops));
  return text + fmt::format("\n  {}; the rehearsal takes {} of each GPU\n", printable(report.libraries),
                            to_text(ByteCount{report.memory_bytes}));
}

std::string exchange_remark(const TrainReport& report) {
  std::string text = to_text(report.exchange_rate) + " from each rank";
  if (!report.ceiling.limits.empty() && !report.ceiling.nominal)
    text += fmt::format(", {:.0f} % of the ceiling",
                        100 * (report.exchange_rate / report.ceiling.limits.front().rate));
  return text;
}

std::string exchange_text(const TrainReport& report) {
  const double part = report.exposed / report.step.median;
  std::string text =
      fmt::format("  exposed exchange    {} of a step, {:.0f} %; the backward pass hides {:.0f} % of it\n",
                  seconds_text(report.exposed), 100 * part, 100 * report.overlap);
  // Ours: a model of bandwidth alone is not expected to be closer.
  if (report.exposed > 1.5 * report.predicted_exposed && report.exposed > 0.02 * report.step.median)
    text += fmt::format(
        "                      bandwidth alone explains {}: "
        "the rest is latency, or the two slow each other\n",
        seconds_text(report.predicted_exposed));
  return text + fmt::format("  scaling efficiency  {:.1f} % of the one-rank step\n", 100 * report.efficiency);
}

std::string throughput_text(const TrainReport& report) {
  std::string text = fmt::format("  throughput          {} {}s/s", rate_count_text(report.samples_per_second),
                                 report.sample);
  if (report.tokens > 0) text += fmt::format(", {} tokens/s", rate_count_text(report.tokens_per_second));
  return text + '\n';
}

std::string ceiling_lines(const Ceiling& ceiling) {
  std::string text;
  if (!ceiling.limits.empty())
    text += fmt::format("  ceiling {}: {} = {}\n", to_text(ceiling.limits.front().rate),
                        printable(ceiling.limits.front().name), printable(ceiling.limits.front().source));
  if (!ceiling.note.empty())
    text += fmt::format("  {}{}\n", ceiling.limits.empty() ? "no ceiling: " : "", printable(ceiling.note));
  return text;
}

}  // namespace

std::string gigabytes_text(BitRate rate) { return fmt::format("{:.3g} GB/s", rate.gigabytes()); }

std::string seconds_text(double seconds) { return to_text(Nanoseconds{seconds * 1e9}); }

std::string train_text(const TrainReport& report) {
  std::string text = fmt::format("training {}, {} {} over {}: {}\n", report.model, report.nodes.size(),
                                 report.nodes.size() == 1 ? "rank" : "ranks", report.transport,
                                 printable(nodes_text(report.nodes)));
  if (!report.on_gpus || report.memory_bytes > 0) text += means_text(report);
  text += fmt::format(
      "  {} parameters, {} of gradients ({} bytes each) "
      "in {} buckets; {} {}s a rank\n",
      parameters_text(report.parameters), decimal_text(report.gradient_bytes), report.word_bytes,
      report.buckets, report.batch, report.sample);
  if (report.rounds > 0) {
    text += fmt::format("  {:<20}{:>11}{:>10}{:>11}{:>11}\n", "", "median", "95 %", "min", "max");
    text += row("step", report.step, "");
    text += row("computing alone", report.compute, "");
    if (report.nodes.size() > 1) text += row("exchange alone", report.exchange, exchange_remark(report));
    if (report.nodes.size() > 1) text += exchange_text(report);
    text += throughput_text(report);
  }
  if (report.hiding_rate.bits_per_second > 0)
    text +=
        fmt::format("  the exchange hides  from {} a rank on (at most {:.0f} % of the computing exposed)\n",
                    to_text(report.hiding_rate), 100 * kHiddenShare);
  text += ceiling_lines(report.ceiling);
  if (report.checked_bytes > 0 && report.wrong_bytes == 0)
    text += fmt::format("  sums checked: {}, all exact\n", to_text(ByteCount{report.checked_bytes}));
  if (!report.failure) return text;
  text += fmt::format("  FAILED ({}): {}\n", report.failure->stage, printable(report.failure->cause));
  if (!report.failure->remedy.empty()) text += fmt::format("    do: {}\n", printable(report.failure->remedy));
  return text;
}

}  // namespace railbed
