#include "report/text/forecast_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/text/bench_table.h"
#include "report/text/train_text.h"

namespace railbed {
namespace {

std::string decimal_bytes(double bytes) {
  return bytes >= 1e12  ? fmt::format("{:.3g} TB", bytes / 1e12)
         : bytes >= 1e9 ? fmt::format("{:.3g} GB", bytes / 1e9)
                        : fmt::format("{:.3g} MB", bytes / 1e6);
}
std::string gigabytes_text(BitRate rate) { return fmt::format("{:.3g} GB/s", rate.gigabytes()); }

std::string range_text(Nanoseconds low, Nanoseconds high) {
  return low == high ? to_text(low) : to_text(low) + " to " + to_text(high);
}

std::string budget_line(std::string_view name, const std::string& time, std::string_view source) {
  return fmt::format("  {:<18}", name) + right_aligned(time, 22) +
         (source.empty() ? "" : "  " + printable(source)) + '\n';
}

std::string traffic_line(std::string_view name, const TrafficForecast& forecast) {
  std::string text = fmt::format("  {:<10}{:>9}{:>7}{:>9}{:>13}{:>13}{:>13}\n", name, forecast.pairs,
                                 forecast.cut, forecast.slowed, to_text(forecast.slowest),
                                 to_text(forecast.median), to_text(forecast.fastest));
  if (!forecast.bottleneck.empty())
    text += fmt::format("    the slowest is held by {}; flows on it: {}\n", forecast.bottleneck,
                        forecast.sharing);
  return text;
}

}  // namespace

std::string latency_budget_text(const LatencyBudget& budget) {
  std::string text = fmt::format("{}, half a round trip\n", budget.transport);
  for (const BudgetRow& row : budget.rows)
    text += budget_line(row.name, range_text(row.low, row.high), row.source);
  text += budget_line("all", range_text(budget.low, budget.high), "");
  if (budget.measured) {
    text += budget_line("measured", to_text(*budget.measured), budget.measured_from);
    text += fmt::format("  {}\n", budget.verdict);
  }
  return text;
}

std::string sync_table_text(const std::vector<SyncRow>& rows) {
  std::string text = fmt::format("waiting for one message, so often a second\n  {:>12}{:>12}{:>12}{:>12}\n",
                                 "syncs/s", "TCP", "RDMA", "saved");
  for (const SyncRow& row : rows)
    text += fmt::format("  {:>12}", row.per_second) + right_aligned(to_text(row.tcp), 12) +
            right_aligned(to_text(row.rdma), 12) + right_aligned(to_text(row.tcp - row.rdma), 12) + '\n';
  return text;
}

std::string training_text(const TrainingForecast& forecast) {
  std::string text = fmt::format("training {}, {:.0f} million parameters, {} GPUs in {} {}\n", forecast.model,
                                 forecast.parameters / 1e6, forecast.gpus, forecast.replicas,
                                 forecast.replicas == 1 ? "replica" : "replicas");
  text += fmt::format("  {:<26}", "computing") + right_aligned(seconds_text(forecast.compute), 11) +
          fmt::format("  {} of it the backward pass\n", seconds_text(forecast.backward));
  if (forecast.bubble > 0)
    text +=
        fmt::format("  {:<26}", "pipeline bubble") + right_aligned(seconds_text(forecast.bubble), 11) + '\n';
  for (const TrainingExchange& exchange : forecast.exchanges)
    text += fmt::format("  {:<26}", exchange.name) + right_aligned(seconds_text(exchange.exposed), 11) +
            fmt::format("  exposed of {}; {} from each adapter; {}\n", seconds_text(exchange.seconds),
                        decimal_bytes(exchange.adapter_bytes), exchange.why);
  if (forecast.disturbed > 0)
    text += fmt::format("  {:<26}", "hidden, but not free") +
            right_aligned(seconds_text(forecast.disturbed), 11) +
            "  computing and exchanging want the same multiprocessors\n";
  text += fmt::format("  {:<26}", "step") + right_aligned(seconds_text(forecast.step), 11) +
          fmt::format("  {:.1f} % of it computing\n", 100 * forecast.efficiency);
  text += fmt::format("  {:.4g} samples/s", forecast.samples_per_second);
  if (forecast.tokens_per_second > 0) text += fmt::format(", {:.4g} tokens/s", forecast.tokens_per_second);
  text += '\n';
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

std::string traffic_text(const Network& network, const TrafficForecast& whole,
                         const std::optional<TrafficForecast>& broken) {
  const NetworkPlan& plan = network.plan();
  std::string text = fmt::format("{}: {} nodes of {} ports at {}",
                                 enum_names(plan.shape)[static_cast<std::size_t>(plan.shape)], plan.nodes,
                                 plan.rails, to_text(plan.port));
  if (network.leaves() > 1)
    text += fmt::format("; {} leaves, {} spines, oversubscription {:.3g}", network.leaves(), network.spines(),
                        network.oversubscription());
  text += fmt::format("\n  {:<10}{:>9}{:>7}{:>9}{:>13}{:>13}{:>13}\n", "", "pairs", "cut", "slowed",
                      "slowest", "median", "fastest");
  text += traffic_line("whole", whole);
  if (broken) text += traffic_line("broken", *broken);
  if (broken && broken->cut == 0 && whole.slowest.bits_per_second > 0)
    text += fmt::format("  a ring through all loses {:.0f} %\n", 100 * (1 - broken->slowest / whole.slowest));
  if (broken && broken->cut > 0)
    text +=
        fmt::format("  {} of {} pairs have no way: a job over all nodes stops\n", broken->cut, broken->pairs);
  return text;
}

}  // namespace railbed
