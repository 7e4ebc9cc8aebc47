#include "report/text/forecast_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "base/wording.h"
#include "report/text/bench_table.h"
#include "report/text/train_text.h"

namespace railbed {
namespace {

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

std::string traffic_text(const Network& network, const TrafficForecast& whole,
                         const std::optional<TrafficForecast>& broken) {
  const NetworkPlan& plan = network.plan();
  std::string text =
      fmt::format("{}: {} of {} at {}", enum_names(plan.shape)[static_cast<std::size_t>(plan.shape)],
                  counted(static_cast<std::size_t>(plan.nodes), "node"),
                  counted(static_cast<std::size_t>(plan.rails), "port"), to_text(plan.port));
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
