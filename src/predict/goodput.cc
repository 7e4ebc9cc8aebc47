// Interruptions are a Poisson process: every node fails at a constant rate, and any failure stops the job. A
// segment of `interval` seconds and a checkpoint of `stop` seconds is repeated until it ends without an
// interruption; each costs a restart first. With the mean time M between interruptions the expected time of a
// segment is M e^(R/M) (e^((interval + stop)/M) - 1) (Daly 2006). What is neither progress, checkpoint nor
// restart is work that was done again. A checkpoint that is written while training continues stops it for a
// shorter time, but until its end the one before counts: the writing adds to what a failure loses.
//
// A node that is broken for a mean time of repair is out of service for rate · repair of the time. The job
// waits while more nodes than the spare ones are.
#include "predict/goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace railbed {
namespace {

constexpr double kDay = 24 * 3600;
constexpr double kGpusOfPublishedNodes = 8;
constexpr int kMostSpares = 10'000;

// Kokolis et al. 2025, "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (HPCA): two
// clusters of A100. Grattafiori et al. 2024, "The Llama 3 Herd of Models", section 3.3.4: 419 unexpected
// interruptions of 2,048 nodes in 54 days.
constexpr std::array<FailureRate, 3> kRates{{
    {"RSC-2 (A100)", 2.34, "Kokolis et al. 2025"},
    {"Llama 3 (H100)", 419.0 / (54 * 2.048), "Grattafiori et al. 2024"},
    {"RSC-1 (A100)", 6.50, "Kokolis et al. 2025"},
}};

double stop_of(const GoodputPlan& plan, double write) { return plan.stall > 0 ? plan.stall : write; }

void add_costs(Goodput& row, const GoodputPlan& plan, double kilowatts) {
  double per_day = 0;
  bool known = false;
  if (plan.kilowatt_hour && kilowatts > 0) {
    per_day += *plan.kilowatt_hour * kilowatts * 24;
    known = true;
  }
  if (plan.gpu_hour) {
    per_day += *plan.gpu_hour * 24 * plan.gpus * (plan.nodes + plan.spares);
    known = true;
  }
  if (!known) return;
  row.cost_per_day = per_day;
  if (row.tokens_per_day > 0) row.cost_per_million_tokens = per_day / row.tokens_per_day * 1e6;
  if (plan.step > 0 && row.goodput > 0) row.cost_per_step = per_day * plan.step / (kDay * row.goodput);
}

Goodput row_of(const GoodputPlan& plan, std::string name, double per_thousand_node_days,
               const GoodputForecast& whole) {
  Goodput row;
  row.failures = std::move(name);
  row.per_thousand_node_days = per_thousand_node_days;
  const double rate = per_thousand_node_days / 1000 / kDay;
  row.between = 1 / (rate * plan.nodes);
  row.interruptions_per_day = kDay / row.between;
  const double stop = stop_of(plan, whole.write);
  // Two checkpoints cannot be written at the same time.
  row.best_interval = std::max(best_interval(stop, row.between), whole.write);
  row.interval = plan.interval > 0 ? plan.interval : row.best_interval;
  const double unfinished = std::max(0.0, whole.write - stop);
  const double running = progress_share(row.interval, stop, plan.restart + unfinished, row.between);
  const double broken = rate * plan.repair / (1 + rate * plan.repair);
  row.lost_to_waiting = probability_of_waiting(plan.nodes, plan.spares, broken);
  const double there = 1 - row.lost_to_waiting;
  row.goodput = running * there;
  row.lost_to_checkpoints = row.interval > 0 ? row.goodput * stop / row.interval : 0;
  row.lost_to_restarts = std::min(1 - row.goodput, there * plan.restart / row.between);
  row.lost_to_rework =
      std::max(0.0, 1 - row.goodput - row.lost_to_checkpoints - row.lost_to_restarts - row.lost_to_waiting);
  while (row.spares_for_99 < kMostSpares &&
         probability_of_waiting(plan.nodes, row.spares_for_99, broken) > 0.01)
    ++row.spares_for_99;
  row.tokens_per_day = plan.tokens_per_second * kDay * row.goodput;
  add_costs(row, plan, whole.kilowatts);
  return row;
}

std::vector<std::string> assumptions(const GoodputPlan& plan) {
  std::vector<std::string> said;
  if (plan.failures <= 0)
    said.push_back(fmt::format(
        "failures as published of nodes of eight GPUs, by the GPUs of a node ({}); --failures says yours",
        plan.gpus));
  said.push_back(
      fmt::format("{:.0f} s from a failure to the next step (MegaScale states less than ten minutes "
                  "to find and mend one)",
                  plan.restart));
  said.push_back(fmt::format("a broken node is back after {:.3g} h", plan.repair / 3600));
  if (plan.gpu_watts > 0)
    said.push_back(
        fmt::format("GPUs draw their rated {:g} W, the rest of a node {:.0f} % of that (DGX H100: "
                    "10.2 kW at most), PUE {:g} (Uptime Institute's survey of 2024: 1.56)",
                    plan.gpu_watts, 100 * plan.node_overhead, plan.pue));
  return said;
}

}  // namespace

std::span<const FailureRate> failure_rates() { return kRates; }

double best_interval(double stop, double between) {
  if (stop <= 0) return 0;
  if (stop >= 2 * between) return between;
  const double part = stop / (2 * between);
  return std::sqrt(2 * stop * between) * (1 + std::sqrt(part) / 3 + part / 9) - stop;
}

double progress_share(double interval, double stop, double restart, double between) {
  if (interval <= 0) return std::exp(-restart / between);
  return interval / (between * std::exp(restart / between) * std::expm1((interval + stop) / between));
}

double probability_of_waiting(int nodes, int spares, double broken_share) {
  if (broken_share <= 0) return 0;
  const double all = nodes + static_cast<double>(spares);
  double enough = 0;
  for (int broken = 0; broken <= spares; ++broken)
    enough += std::exp(std::lgamma(all + 1) - std::lgamma(broken + 1.0) - std::lgamma(all - broken + 1) +
                       broken * std::log(broken_share) + (all - broken) * std::log1p(-broken_share));
  return std::clamp(1 - enough, 0.0, 1.0);
}

GoodputForecast forecast_goodput(const GoodputPlan& plan) {
  GoodputForecast forecast;
  if (plan.storage.bits_per_second > 0)
    forecast.write = plan.checkpoint_bytes * 8 / plan.storage.bits_per_second;
  forecast.kilowatts = plan.nodes * plan.gpus * plan.gpu_watts * (1 + plan.node_overhead) * plan.pue / 1000;
  forecast.assumed = assumptions(plan);
  if (plan.failures > 0) {
    forecast.by_rate.push_back(row_of(plan, "yours", plan.failures, forecast));
    return forecast;
  }
  for (const FailureRate& rate : failure_rates())
    forecast.by_rate.push_back(row_of(plan, std::string(rate.name),
                                      rate.per_thousand_node_days * plan.gpus / kGpusOfPublishedNodes,
                                      forecast));
  return forecast;
}

}  // namespace railbed
