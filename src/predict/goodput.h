// What remains of a long training run after failures, checkpoints and repairs, and what it costs. Pure
// arithmetic on published rates of failure, or the user's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/units.h"

namespace railbed {

// Failures that end a job, of 1,000 nodes of eight GPUs in a day.
struct FailureRate {
  std::string_view name;
  double per_thousand_node_days;
  std::string_view source;
};
// From the lowest to the highest.
std::span<const FailureRate> failure_rates();

struct GoodputPlan {
  int nodes = 1;
  int gpus = 8;         // per node
  double failures = 0;  // per 1,000 node-days; 0: the published rates, by the GPUs of a node
  double checkpoint_bytes = 0;
  BitRate storage;              // of all writers together
  double stall = 0;             // seconds that training stops for a checkpoint; 0: all of its writing
  double interval = 0;          // seconds of training between two checkpoints; 0: the best
  double restart = 600;         // seconds from a failure to the next step: detection, start, reading
  int spares = 0;               // nodes that wait to replace a broken one
  double repair = 24 * 3600;    // seconds until a broken node is back
  double gpu_watts = 0;         // 0: unknown
  double node_overhead = 0.82;  // watts of the rest of a node, as a share of its GPUs'
  double pue = 1.56;
  double tokens_per_second = 0;         // without failures; 0: samples have none
  double step = 0;                      // seconds
  std::optional<double> kilowatt_hour;  // prices
  std::optional<double> gpu_hour;
};

// One rate of failures and what follows. Seconds.
struct Goodput {
  std::string failures;  // "Llama 3 (54 days, 16,384 H100)"
  double per_thousand_node_days = 0;
  double between = 0;  // mean time between interruptions of the job
  double interruptions_per_day = 0;
  double interval = 0;  // between checkpoints
  double best_interval = 0;
  double goodput = 0;              // share of the time that makes progress
  double lost_to_checkpoints = 0;  // shares; they add up to 1 with the goodput
  double lost_to_restarts = 0;
  double lost_to_rework = 0;
  double lost_to_waiting = 0;  // for repairs, without a spare node
  int spares_for_99 = 0;       // so many spare nodes keep the waiting below 1 %
  double tokens_per_day = 0;
  std::optional<double> cost_per_day;
  std::optional<double> cost_per_million_tokens;
  std::optional<double> cost_per_step;
  FIELDS(Goodput, failures, per_thousand_node_days, between, interruptions_per_day, interval, best_interval,
         goodput, lost_to_checkpoints, lost_to_restarts, lost_to_rework, lost_to_waiting, spares_for_99,
         tokens_per_day, cost_per_day, cost_per_million_tokens, cost_per_step);
};

struct GoodputForecast {
  double write = 0;      // seconds to write a checkpoint
  double kilowatts = 0;  // with cooling; 0: unknown
  std::vector<Goodput> by_rate;
  std::vector<std::string> assumed;
  FIELDS(GoodputForecast, write, kilowatts, by_rate, assumed);
};
// Returns one row for the user's rate of failures, or one for each published one.
GoodputForecast forecast_goodput(const GoodputPlan& plan);

// Returns the interval between checkpoints that loses least, for a stop of so many seconds and a mean time
// between interruptions (Daly 2006, equation 37).
double best_interval(double stop, double between);
// Returns the share of the time that makes progress, if interruptions come at random.
double progress_share(double interval, double stop, double restart, double between);
// Returns the probability that more than `spares` of `nodes` + `spares` are broken at the same time.
double probability_of_waiting(int nodes, int spares, double broken_share);

}  // namespace railbed
