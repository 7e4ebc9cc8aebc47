// Forecasts a training step on a cluster: the computation, the part of the exchanges that it does not hide,
// and what follows for adapters, checkpoints and the number of nodes. Pure arithmetic.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/units.h"
#include "predict/training_plan.h"

namespace railbed {

// One kind of exchange, over a whole step. Times are seconds.
struct TrainingExchange {
  std::string name;          // "data: gradients"
  std::string why;           // the arithmetic, in words
  double adapter_bytes = 0;  // bytes that each adapter sends
  double seconds = 0;        // its own duration
  double exposed = 0;        // the part during which nothing is computed
  double disturbed = 0;      // slowdown of the computation by the hidden part
  FIELDS(TrainingExchange, name, why, adapter_bytes, seconds, exposed, disturbed);
};

struct TrainingForecast {
  std::string model;
  int gpus = 0;
  int replicas = 0;
  double parameters = 0;
  double compute = 0;    // seconds
  double backward = 0;   // part of `compute`
  double bubble = 0;     // waiting time of pipeline stages
  double optimizer = 0;  // its own reading and writing of memory
  std::vector<TrainingExchange> exchanges;
  double exposed = 0;
  double disturbed = 0;
  double step = 0;
  double efficiency = 0;  // share of the computation in the step
  double mfu = 0;         // useful operations by those of the data sheet; 0: unknown
  std::string rates;      // source of the GPU's rates
  double samples_per_second = 0;
  double tokens_per_second = 0;
  double gradient_bytes = 0;  // gradients of one GPU
  BitRate least_adapter;      // the slowest adapter that hides the replicas' exchange except its ends
  FIELDS(TrainingForecast, model, gpus, replicas, parameters, compute, backward, bubble, optimizer, exchanges,
         exposed, disturbed, step, efficiency, mfu, rates, samples_per_second, tokens_per_second,
         gradient_bytes, least_adapter);
};
// Returns the forecast. Fails if the degrees of parallelism do not divide the GPUs, if the model has too few
// blocks for them, or if a needed rate is unknown.
Result<TrainingForecast> forecast_training(const TrainingPlan& plan);

// The network that a node needs for a model, without latency: the question of the guides.
struct NetworkNeed {
  std::string model;
  double gradient_bytes = 0;
  double backward = 0;       // seconds
  BitRate least;             // of all adapters of a node together
  double exposed_share = 0;  // share of the step, with the given network
  enum class Verdict { kHides, kBorderline, kTooSlow } verdict = Verdict::kHides;
  std::string why;
  FIELDS(NetworkNeed, model, gradient_bytes, backward, least, exposed_share, verdict, why);
};
constexpr auto enum_names(NetworkNeed::Verdict) {
  return std::array<std::string_view, 3>{"hides", "borderline", "too-slow"};
}
// Returns the needs of the guides' four models, each with its usual batch, on the plan's GPUs and network.
std::vector<NetworkNeed> network_needs(const TrainingPlan& plan);

struct CheckpointPlan {
  double bytes_per_parameter = 14;  // 16-bit weights; 32-bit weights and both of Adam's moments
  BitRate storage;                  // rate of all writers together
  double interval = 1800;           // seconds between two checkpoints
  double share = 0.05;              // acceptable share of the time
};
struct CheckpointForecast {
  double bytes = 0;
  double seconds = 0;  // time to write one, without computation; 0: no storage was given
  double share = 0;    // share of the time
  BitRate least;       // the slowest storage that keeps within the plan's share
  FIELDS(CheckpointForecast, bytes, seconds, share, least);
};
// Returns the size and the duration of a checkpoint of so many parameters.
CheckpointForecast forecast_checkpoint(double parameters, const CheckpointPlan& plan);

// A larger number of nodes for the same job: the batch of all replicas together is constant.
struct ScalingPoint {
  int nodes = 0;
  double step = 0;
  double speed_up = 0;  // relative to the fewest nodes that hold one replica
  double marginal = 0;  // gain of one more node, in nodes
  FIELDS(ScalingPoint, nodes, step, speed_up, marginal);
};
struct Scaling {
  std::vector<ScalingPoint> points;
  double least = 0.5;  // the least worthwhile marginal gain
  int last = 0;        // number of nodes after which one more is not worthwhile; 0: none up to the last point
  FIELDS(Scaling, points, least, last);
};
// Returns the step for 1 to `most_nodes` nodes. Stops after the first point whose marginal gain is below
// `least`, or when a micro-batch would have less than one sample. Numbers of nodes that the degrees do not
// divide are left out.
Result<Scaling> forecast_scaling(const TrainingPlan& plan, double least, int most_nodes);

}  // namespace railbed
