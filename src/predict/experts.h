// Forecasts what a layer with experts (MoE) exchanges: each token goes to the GPUs that hold its experts
// (dispatch), and what they computed comes back and is summed (combine).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/units.h"
#include "predict/exchange.h"
#include "results/measurement.h"

namespace railbed {

enum class ExpertKernels {
  kNormal,      // DeepEP V2 and Hybrid-EP: one copy for each node, which passes it on over NVLink
  kNormalV1,    // DeepEP V1 with its 24 multiprocessors
  kLowLatency,  // DeepEP V1: a copy for each expert, straight to its GPU
  kAllToAll,    // NCCL: a copy for each expert
};
constexpr auto enum_names(ExpertKernels) {
  return std::array<std::string_view, 4>{"normal", "normal-v1", "low-latency", "all_to_all"};
}
enum class ExpertStep { kDispatch, kCombine };
constexpr auto enum_names(ExpertStep) { return std::array<std::string_view, 2>{"dispatch", "combine"}; }

// All GPUs of the cluster share the experts of a layer, and every expert is as likely as the others.
struct ExpertBatch {
  int tokens = 4096;  // of each GPU
  int hidden = 7168;  // values of a token
  int used = 8;       // experts of each token: top-k
  int experts = 256;  // of the layer; each GPU has as many
  int groups = 0;     // most nodes that hold a token's experts (group-limited gating); 0: no limit
  bool fp8 = true;    // dispatch in FP8 with a scale of four bytes for 128 values, else in BF16
};

// Returns the bytes of all tokens with a copy for each expert.
double copies_bytes(double tokens, double hidden, int used, double value_bytes);

// How many nodes (NVLink networks) and how many GPUs hold the experts of one token, on average.
struct ExpertReach {
  double nodes = 1;
  double gpus = 1;
  FIELDS(ExpertReach, nodes, gpus);
};
ExpertReach expert_reach(const ExpertBatch& batch, const ClusterShape& shape);

// The free constants, fitted to published measurements (docs/reference/predict-experts-accuracy.md).
struct ExpertConstants {
  double network = 1;        // share that the kernels reach of what NCCL's collectives reach over adapters
  double links = 1;          // the same over NVLink
  double forwarding = 0;     // bytes a second that V1's normal kernels pass on within a node
  double start = 0;          // seconds
  double spread_normal = 0;  // of ln(measured / forecast) on sources that were left out
  double spread_low_latency = 0;
  int sources = 0;
};
const ExpertConstants& shipped_expert_constants();

struct ExpertForecast {
  ExpertKernels kernels = ExpertKernels::kNormal;
  ExpertStep step = ExpertStep::kDispatch;
  double seconds = 0, low = 0, high = 0;  // the band holds 80 %
  double bandwidth = 0;                   // bytes a second of a GPU, as the tests of DeepEP count them
  Limit limit;                            // of one GPU; the part that is reached
  std::string basis;                      // "fitted (6 sources)", "assumed, as over InfiniBand"
  FIELDS(ExpertForecast, kernels, step, seconds, low, high, bandwidth, limit, basis);
};

// Returns the kernels that run on such GPUs and adapters.
std::vector<ExpertKernels> kernels_for(const ClusterShape& shape);
// Returns the forecast. Fails if the experts cannot be spread evenly over the GPUs, if a token uses more
// experts than it may reach, and if the kernels do not run there.
Result<ExpertForecast> forecast_experts(ExpertKernels kernels, ExpertStep step, const ExpertBatch& batch,
                                        const TrainingCluster& cluster,
                                        const ExpertConstants& constants = shipped_expert_constants());

}  // namespace railbed
