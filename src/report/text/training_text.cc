#include "report/text/training_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/wording.h"
#include "report/text/bench_table.h"
#include "report/text/train_text.h"

namespace railbed {
namespace {

std::string decimal_bytes(double bytes) {
  return bytes >= 1e12  ? fmt::format("{:.3g} TB", bytes / 1e12)
         : bytes >= 1e9 ? fmt::format("{:.3g} GB", bytes / 1e9)
                        : fmt::format("{:.3g} MB", bytes / 1e6);
}
std::string gibibytes(double bytes) { return fmt::format("{:.3g} GiB", bytes / (1ull << 30)); }

// Text of hours and days, which seconds_text() does not have.
std::string duration(double seconds) {
  if (seconds >= 2 * 24 * 3600) return fmt::format("{:.3g} days", seconds / (24 * 3600));
  if (seconds >= 2 * 3600) return fmt::format("{:.3g} h", seconds / 3600);
  if (seconds >= 120) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} s", seconds);
}

std::string costs_text(const Goodput& row, const std::string& currency) {
  std::string text = fmt::format("    {:.4g} {} a day", *row.cost_per_day, currency);
  if (row.cost_per_million_tokens)
    text += fmt::format(", {:.3g} {} for 10^6 tokens", *row.cost_per_million_tokens, currency);
  if (row.cost_per_step) text += fmt::format(", {:.3g} {} a step", *row.cost_per_step, currency);
  return text + '\n';
}

}  // namespace

std::string training_text(const TrainingForecast& forecast) {
  std::string text =
      fmt::format("training {}, {:.0f} million parameters, {} in {}\n", forecast.model,
                  forecast.parameters / 1e6, counted(static_cast<std::size_t>(forecast.gpus), "GPU"),
                  counted(static_cast<std::size_t>(forecast.replicas), "replica"));
  text += fmt::format("  {:<26}", "computing") + right_aligned(seconds_text(forecast.compute), 11) +
          fmt::format("  {} of it the backward pass\n", seconds_text(forecast.backward));
  if (forecast.bubble > 0)
    text +=
        fmt::format("  {:<26}", "pipeline bubble") + right_aligned(seconds_text(forecast.bubble), 11) + '\n';
  for (const TrainingExchange& exchange : forecast.exchanges)
    text += fmt::format("  {:<26}", exchange.name) + right_aligned(seconds_text(exchange.exposed), 11) +
            fmt::format("  exposed of {}; {} from each adapter; {}\n", seconds_text(exchange.seconds),
                        decimal_bytes(exchange.adapter_bytes), exchange.why);
  if (forecast.optimizer > 0)
    text += fmt::format("  {:<26}", "optimizer") + right_aligned(seconds_text(forecast.optimizer), 11) +
            "  reading and writing its states\n";
  if (forecast.disturbed > 0)
    text += fmt::format("  {:<26}", "hidden, but not free") +
            right_aligned(seconds_text(forecast.disturbed), 11) +
            "  computing and exchanging want the same multiprocessors\n";
  text += fmt::format("  {:<26}", "step") + right_aligned(seconds_text(forecast.step), 11) +
          fmt::format("  {:.1f} % of it computing", 100 * forecast.efficiency) +
          (forecast.mfu > 0 ? fmt::format("; {:.0f} % MFU", 100 * forecast.mfu) : "") + '\n';
  text += fmt::format("  {:.4g} samples/s", forecast.samples_per_second);
  if (forecast.tokens_per_second > 0) text += fmt::format(", {:.4g} tokens/s", forecast.tokens_per_second);
  text += '\n';
  if (!forecast.rates.empty()) text += fmt::format("  rate of a GPU: {}\n", forecast.rates);
  if (forecast.least_adapter.bits_per_second > 0)
    text += fmt::format(
        "  the backward pass hides the replicas' exchange from {} ({}) an adapter on, but for its end\n",
        gigabytes_text(forecast.least_adapter), to_text(forecast.least_adapter));
  return text;
}

std::string network_needs_text(const std::vector<NetworkNeed>& needs, BitRate there_is) {
  std::string text =
      fmt::format("network speed by model size; a node has {}\n  {:<12}{:>11}{:>12}{:>10}  {}\n",
                  gigabytes_text(there_is), "model", "gradients", "needs", "exposed", "so");
  for (const NetworkNeed& need : needs)
    text +=
        fmt::format("  {:<12}{:>11}{:>12}{:>8.0f} %  {}\n    {}\n", need.model,
                    decimal_bytes(need.gradient_bytes), gigabytes_text(need.least), 100 * need.exposed_share,
                    enum_names(need.verdict)[static_cast<std::size_t>(need.verdict)], need.why);
  return text;
}

std::string checkpoint_text(const CheckpointForecast& forecast, const CheckpointPlan& plan) {
  std::string text = fmt::format(
      "a checkpoint has {}; every {:.0f} s, for {:.3g} % of the time at most, it needs {}\n",
      decimal_bytes(forecast.bytes), plan.interval, 100 * plan.share, gigabytes_text(forecast.least));
  if (forecast.seconds > 0)
    text += fmt::format("  at {}: {:.3g} s each, {:.2g} % of the time\n", gigabytes_text(plan.storage),
                        forecast.seconds, 100 * forecast.share);
  return text;
}

std::string scaling_text(const Scaling& scaling) {
  std::string text = fmt::format("more nodes for the same batch\n  {:>6}{:>12}{:>10}{:>17}\n", "nodes",
                                 "step", "speed-up", "the last's part");
  for (std::size_t i = 0; i < scaling.points.size(); ++i) {
    const ScalingPoint& point = scaling.points[i];
    const bool power = (point.nodes & (point.nodes - 1)) == 0;
    if (!power && i + 2 < scaling.points.size()) continue;
    text += fmt::format("  {:>6}", point.nodes) + right_aligned(seconds_text(point.step), 12) +
            fmt::format("{:>10.2f}{:>17.2f}\n", point.speed_up, point.marginal);
  }
  if (scaling.last > 0)
    return text + fmt::format("  after {} of them one more brings less than {:g} of a node\n", scaling.last,
                              scaling.least);
  return text + "  up to there each node more pays\n";
}

std::string training_memory_text(const TrainingPlan& plan, const TrainingMemory& memory,
                                 const std::vector<FittingPlan>& would_fit) {
  const std::string_view sharding = enum_names(plan.sharding)[static_cast<std::size_t>(plan.sharding)];
  std::string text = fmt::format(
      "  memory of a GPU: {}: weights {}, gradients {}, optimizer {}, activations {}, reserve {} (assumed)\n",
      gibibytes(memory.all), gibibytes(memory.weights), gibibytes(memory.gradients),
      gibibytes(memory.optimizer), gibibytes(memory.activations), gibibytes(memory.reserve));
  const std::string has = gibibytes(memory.capacity);
  switch (memory.fit()) {
    case MemoryFit::kUnknown:
      return text + fmt::format("  how much memory {} has is not known: --gpu-memory\n",
                                printable(plan.shape().gpu));
    case MemoryFit::kFits:
      return text + fmt::format("  it fits: a GPU has {}\n", has);
    case MemoryFit::kTight:
      text += fmt::format("  a GPU has {}: whether that is enough depends on the software\n", has);
      if (memory.all <= memory.capacity) return text;
      break;
    case MemoryFit::kTooMuch:
      text += fmt::format("  it does not fit: {} with {} needs {}, a GPU has {}\n", plan.model.name, sharding,
                          gibibytes(memory.all), has);
  }
  if (would_fit.empty())
    return text +
           "  no sharding, recomputing or smaller micro-batch makes it fit: more GPUs, or larger ones\n";
  text += "  what would fit:\n";
  for (const FittingPlan& fitting : would_fit)
    text += fmt::format("    {:<46}{:>12}\n", fitting.change, gibibytes(fitting.bytes));
  return text;
}

std::string goodput_text(const GoodputPlan& plan, const GoodputForecast& forecast,
                         const std::string& currency) {
  std::string text =
      fmt::format("a checkpoint of {} takes {} at {}\n", decimal_bytes(plan.checkpoint_bytes),
                  duration(forecast.write), fmt::format("{:.4g} GB/s", plan.storage.gigabytes()));
  for (const Goodput& row : forecast.by_rate) {
    text += fmt::format("  {:.1f} % goodput with failures as {}: {:.3g} of 1,000 nodes in a day\n",
                        100 * row.goodput, row.failures, row.per_thousand_node_days);
    text += fmt::format("    an interruption every {}, {:.3g} a day; a checkpoint every {} (best: {})\n",
                        duration(row.between), row.interruptions_per_day, duration(row.interval),
                        duration(row.best_interval));
    text += fmt::format(
        "    lost: {:.1f} % checkpoints, {:.1f} % restarts, {:.1f} % work done again, {:.1f} % waiting for repair\n",
        100 * row.lost_to_checkpoints, 100 * row.lost_to_restarts, 100 * row.lost_to_rework,
        100 * row.lost_to_waiting);
    if (row.spares_for_99 > plan.spares)
      text += fmt::format("    spare nodes that keep the waiting below 1 %: {}; there are {}\n",
                          row.spares_for_99, plan.spares);
    if (row.tokens_per_day > 0) text += fmt::format("    {:.4g} tokens a day\n", row.tokens_per_day);
    if (row.cost_per_day) text += costs_text(row, currency);
  }
  if (forecast.kilowatts > 0)
    text += fmt::format("  {:.4g} kW, {:.4g} kWh a day\n", forecast.kilowatts, forecast.kilowatts * 24);
  else
    text += "  what the GPUs draw is not known: --gpu-watts\n";
  text += "  assumed:\n";
  for (const std::string& assumption : forecast.assumed) text += fmt::format("    {}\n", assumption);
  return text;
}

}  // namespace railbed
