// What a training step would take on a cluster: computing, what of the exchanges it does not hide, and what
// follows from that for adapters, checkpoints and the number of nodes. Pure arithmetic.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/units.h"
#include "model/trained_models.h"
#include "predict/exchange.h"

namespace railbed {

struct TrainingPlan {
  Model model;
  double batch = 8;              // samples a replica and step
  double flops_per_second = 0;   // that a GPU reaches
  std::uint64_t word_bytes = 4;  // of a gradient
  std::uint64_t bucket_bytes = std::uint64_t{25} << 20;
  double overlap = 1;       // part of the backward pass that exchanges can run beneath
  bool sharded = false;     // parameters, gradients and optimizer over all replicas: FSDP, ZeRO-3
  int tensor = 1;           // GPUs that share each block's matrices
  int pipeline = 1;         // stages of blocks
  int expert = 1;           // GPUs that share a block's experts
  int micro_batches = 1;    // that a replica's batch is cut into
  int experts = 1;          // of a block
  int experts_used = 1;     // by each token
  double expert_share = 0;  // of the parameters that lie in experts
  TrainingCluster cluster;

  const ClusterShape& shape() const { return cluster.shape; }
  int gpus() const { return shape().ranks(); }
  int replicas() const { return gpus() / (tensor * pipeline); }
};

// One kind of exchange, over a whole step.
struct TrainingExchange {
  std::string name;          // "data: gradients"
  std::string why;           // the arithmetic, in words
  double adapter_bytes = 0;  // that each adapter sends
  double seconds = 0;        // by itself
  double exposed = 0;        // while nothing is computed
  double disturbed = 0;      // that computing takes longer, for what is hidden
  FIELDS(TrainingExchange, name, why, adapter_bytes, seconds, exposed, disturbed);
};

struct TrainingForecast {
  std::string model;
  int gpus = 0;
  int replicas = 0;
  double parameters = 0;
  double compute = 0;   // seconds
  double backward = 0;  // of it
  double bubble = 0;    // that pipeline stages wait
  std::vector<TrainingExchange> exchanges;
  double exposed = 0;
  double disturbed = 0;
  double step = 0;
  double efficiency = 0;  // computing's part of the step
  double samples_per_second = 0;
  double tokens_per_second = 0;
  double gradient_bytes = 0;  // of a GPU
  BitRate least_adapter;      // that hides the replicas' exchange but for its ends
  FIELDS(TrainingForecast, model, gpus, replicas, parameters, compute, backward, bubble, exchanges, exposed,
         disturbed, step, efficiency, samples_per_second, tokens_per_second, gradient_bytes, least_adapter);
};
// Refuses degrees that do not divide the GPUs, or that the model has no blocks for.
Result<TrainingForecast> forecast_training(const TrainingPlan& plan);

// The guides' question: how fast must the network of a node be for this model? Without latency.
struct NetworkNeed {
  std::string model;
  double gradient_bytes = 0;
  double backward = 0;       // seconds
  BitRate least;             // of all adapters of a node together
  double exposed_share = 0;  // of the step, with the network that there is
  enum class Verdict { kHides, kBorderline, kTooSlow } verdict = Verdict::kHides;
  std::string why;
  FIELDS(NetworkNeed, model, gradient_bytes, backward, least, exposed_share, verdict, why);
};
constexpr auto enum_names(NetworkNeed::Verdict) {
  return std::array<std::string_view, 3>{"hides", "borderline", "too-slow"};
}
// Of the guides' four models, each with its usual batch, on the plan's GPUs and network.
std::vector<NetworkNeed> network_needs(const TrainingPlan& plan);

struct CheckpointPlan {
  double bytes_per_parameter = 14;  // 16-bit weights; 32-bit weights and both of Adam's moments
  BitRate storage;                  // of all that write together
  double interval = 1800;           // seconds between two
  double share = 0.05;              // of the time that is borne
};
struct CheckpointForecast {
  double bytes = 0;
  double seconds = 0;  // to write one, while nothing is computed; 0: no storage was named
  double share = 0;    // of the time
  BitRate least;       // that keeps to the plan's share
  FIELDS(CheckpointForecast, bytes, seconds, share, least);
};
CheckpointForecast forecast_checkpoint(double parameters, const CheckpointPlan& plan);

// More nodes for the same job: the batch of all replicas together stays what the plan has.
struct ScalingPoint {
  int nodes = 0;
  double step = 0;
  double speed_up = 0;  // over the fewest nodes that hold one replica
  double marginal = 0;  // what a node more brought, in nodes
  FIELDS(ScalingPoint, nodes, step, speed_up, marginal);
};
struct Scaling {
  std::vector<ScalingPoint> points;
  double least = 0.5;  // marginal that still pays
  int last = 0;        // nodes from which one more does not pay; 0: it paid up to the last point
  FIELDS(Scaling, points, least, last);
};
Result<Scaling> forecast_scaling(const TrainingPlan& plan, double least, int most_nodes);

}  // namespace railbed
