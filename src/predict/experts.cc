// time = start + the longest of
//   adapters    what a GPU sends to other nodes, at its part of the node's adapters
//   NVLink      what a GPU receives from others of its node
//   forwarding  V1's normal kernels alone: what a GPU receives over NVLink after adapters of its node received it
//
// A token whose k experts lie on M nodes and D GPUs crosses the network M (N − 1) / N times and NVLink D (G − 1) / G
// times with normal kernels, on N nodes of G GPUs. Low-latency kernels and NCCL send k copies.
// M and D are what drawing k of the experts without putting any back gives, so routing is even. With
// group-limited gating the experts are drawn from those of `groups` nodes.
//
// Rates are those that NCCL's collectives reach (exchange.h), times a share that the kernels reach of it.
#include "predict/experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "predict/path_limits.h"

namespace railbed {
namespace {

constexpr double kWide = 2;      // bytes of a BF16 value
constexpr double kScaled = 128;  // values that share a scale
constexpr double kScaleBytes = 4;
constexpr double kLowLatencyHeader = 16;  // bytes before each token of a dispatch (DeepEP's tests)
// Four fifths of what UCCL-EP took over EFA is within this band of the forecast.
constexpr double kAssumedSpread = .7;

int gpus_inside(const ClusterShape& shape) { return shape.ranks() / std::max(1, shape.domains()); }

// Returns how many of `boxes` hold at least one of the `used` experts, drawn from those that all boxes hold evenly.
double boxes_with_any(double boxes, double experts, int used) {
  const double outside = experts - experts / boxes;
  double none = 1;
  for (int i = 0; i < used; ++i) none *= std::max(0.0, outside - i) / (experts - i);
  return boxes * (1 - none);
}

bool is_narrow(const ExpertBatch& batch, ExpertStep step) {
  return step == ExpertStep::kDispatch && batch.fp8;
}

double token_bytes(const ExpertBatch& batch, ExpertStep step) {
  if (!is_narrow(batch, step)) return batch.hidden * kWide;
  return batch.hidden + batch.hidden / kScaled * kScaleBytes;
}

// Bytes of one GPU.
struct ExpertTraffic {
  double adapters = 0;
  double links = 0;
  double forwarded = 0;
  double counted = 0;  // by DeepEP's tests, which divide them by the time
};

ExpertTraffic traffic_of(ExpertKernels kernels, ExpertStep step, const ExpertBatch& batch,
                         const ClusterShape& shape) {
  const double nodes = shape.domains();
  const double inside = gpus_inside(shape);
  const double each = batch.tokens * token_bytes(batch, step);
  if (kernels == ExpertKernels::kLowLatency) {
    const double header = step == ExpertStep::kDispatch ? kLowLatencyHeader : 0;
    const double all = batch.used * (each + batch.tokens * header);
    return {all * (nodes - 1) / nodes, all * (inside - 1) / shape.ranks(), 0, all};
  }
  const ExpertReach reach = expert_reach(batch, shape);
  const double passed = each * reach.gpus;
  return {each * reach.nodes * (nodes - 1) / nodes, passed * (inside - 1) / inside, passed,
          nodes > 1 ? each * reach.nodes : passed};
}

std::vector<Limit> limits_of(ExpertKernels kernels, const TrainingCluster& cluster,
                             const ExpertConstants& constants) {
  const ClusterShape& shape = cluster.shape;
  const double adapters = static_cast<double>(used_adapters(shape)) / shape.gpus;
  const auto reached = [](double share) {
    return fmt::format("{:.0f} % of what NCCL's collectives reach there", share * 100);
  };
  std::vector<Limit> limits = {
      {"adapters", reached_of_adapter(cluster) * (adapters * constants.network), reached(constants.network)},
      {"NVLink", reached_within(cluster) * constants.links, reached(constants.links)}};
  if (kernels == ExpertKernels::kNormalV1)
    limits.push_back(
        {"forwarding", BitRate{constants.forwarding * 8}, "24 multiprocessors pass on what a node received"});
  return limits;
}

bool is_deepep(ExpertKernels kernels) { return kernels != ExpertKernels::kAllToAll; }

// Figures are of 4096 and 8192 tokens with normal kernels and of 128 with low-latency ones.
constexpr int kFewestNormal = 2048, kMostLowLatency = 512;

// Returns what the forecast is assumed after; empty if figures of such kernels, parts and batches were published.
std::string assumed_after(ExpertKernels kernels, const ExpertBatch& batch, const ClusterShape& shape) {
  const bool fast = kernels == ExpertKernels::kLowLatency;
  if (shape.architecture < GpuArchitecture::kHopper ||
      (fast && shape.architecture > GpuArchitecture::kHopper))
    return "as on Hopper";
  if (shape.domains() > 1 && shape.nic != NicKind::kInfiniband) return "as over InfiniBand";
  if (!fast && batch.tokens < kFewestNormal) return "as for 4096 tokens";
  if (fast && batch.tokens > kMostLowLatency) return "as for 128 tokens";
  return "";
}

std::string why_not(ExpertKernels kernels, const ExpertBatch& batch, const ClusterShape& shape) {
  const int nodes = shape.domains();
  if (shape.ranks() < 2) return "experts are shared by two GPUs or more";
  if (batch.tokens < 1 || batch.hidden < 1 || batch.used < 1) return "tokens, hidden and top-k: one or more";
  if (batch.experts < 1 || batch.experts % shape.ranks() != 0)
    return fmt::format("{} experts are no multiple of {} GPUs", batch.experts, shape.ranks());
  if (batch.groups < 0 || batch.groups > nodes)
    return fmt::format("groups: at most the {} nodes or NVLink networks", nodes);
  const int reached = batch.groups > 0 ? batch.experts / nodes * batch.groups : batch.experts;
  if (batch.used > reached) return fmt::format("a token uses {} of {} experts", batch.used, reached);
  if (nodes > 1 && shape.nics < 1) return "what network adapters a node has must be known (--nic)";
  if (is_deepep(kernels) && std::ranges::count(kernels_for(shape), kernels) == 0)
    return fmt::format("{} kernels do not run there",
                       enum_names(ExpertKernels{})[static_cast<std::size_t>(kernels)]);
  return "";
}

ExpertForecast by_collective(ExpertStep step, const ExpertBatch& batch, const TrainingCluster& cluster) {
  const ClusterShape& shape = cluster.shape;
  const double value = is_narrow(batch, step) ? token_bytes(batch, step) / batch.hidden : kWide;
  const double bytes = copies_bytes(batch.tokens, batch.hidden, batch.used, value);
  ForecastChoice choice;
  choice.from_graph = true;
  const Forecast alone = forecast_collective(shape, Collective::kAllToAll, static_cast<std::uint64_t>(bytes),
                                             cluster.calibration, choice);
  ExpertForecast made;
  made.kernels = ExpertKernels::kAllToAll;
  made.step = step;
  made.seconds = exchange_seconds(Collective::kAllToAll, bytes, {shape.ranks(), shape.gpus, 1}, cluster);
  made.low = made.seconds * alone.time_low / alone.time;
  made.high = made.seconds * alone.time_high / alone.time;
  made.bandwidth = bytes / made.seconds;
  made.limit = alone.limit;
  made.basis = alone.basis;
  return made;
}

}  // namespace

double copies_bytes(double tokens, double hidden, int used, double value_bytes) {
  return tokens * hidden * used * value_bytes;
}

ExpertReach expert_reach(const ExpertBatch& batch, const ClusterShape& shape) {
  const double nodes = shape.domains();
  const double groups = batch.groups > 0 ? batch.groups : nodes;
  const double experts = batch.experts * groups / nodes;
  return {boxes_with_any(groups, experts, batch.used),
          boxes_with_any(groups * gpus_inside(shape), experts, batch.used)};
}

const ExpertConstants& shipped_expert_constants() {
  // The result of the fit in experts_test, which checks it.
  static constexpr ExpertConstants kShippedExperts{.network = .927,
                                                   .links = .8738,
                                                   .forwarding = 136.2e9,
                                                   .start = 29.27e-6,
                                                   .spread_normal = .151,
                                                   .spread_low_latency = .192,
                                                   .sources = 6};
  return kShippedExperts;
}

std::vector<ExpertKernels> kernels_for(const ClusterShape& shape) {
  using enum ExpertKernels;
  const bool linked = gpus_inside(shape) == 1 || shape.nvlinks > 0;
  const bool direct = shape.domains() == 1 || (shape.gpudirect && shape.nic != NicKind::kTcp);
  std::vector<ExpertKernels> kernels;
  if (linked && direct && shape.architecture >= GpuArchitecture::kHopper) kernels.push_back(kNormal);
  if (linked && direct && shape.architecture >= GpuArchitecture::kAmpere &&
      shape.architecture < GpuArchitecture::kBlackwell)
    kernels.push_back(kNormalV1);
  if (linked && direct && shape.architecture >= GpuArchitecture::kHopper) kernels.push_back(kLowLatency);
  kernels.push_back(kAllToAll);
  return kernels;
}

Result<ExpertForecast> forecast_experts(ExpertKernels kernels, ExpertStep step, const ExpertBatch& batch,
                                        const TrainingCluster& cluster, const ExpertConstants& constants) {
  const ClusterShape& shape = cluster.shape;
  if (const std::string why = why_not(kernels, batch, shape); !why.empty())
    return fail(ErrorKind::kBadInput, why);
  if (!is_deepep(kernels)) return by_collective(step, batch, cluster);
  const ExpertTraffic traffic = traffic_of(kernels, step, batch, shape);
  const double bytes[] = {traffic.adapters, traffic.links, shape.domains() > 1 ? traffic.forwarded : 0};
  ExpertForecast made;
  made.kernels = kernels;
  made.step = step;
  const std::vector<Limit> limits = limits_of(kernels, cluster, constants);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (bytes[i] <= 0) continue;
    const double seconds = bytes[i] * 8 / limits[i].rate.bits_per_second;
    if (seconds <= made.seconds) continue;
    made.seconds = seconds;
    made.limit = limits[i];
  }
  made.seconds += constants.start;
  made.bandwidth = traffic.counted / made.seconds;
  const std::string after = assumed_after(kernels, batch, shape);
  const double spread = !after.empty()                          ? kAssumedSpread
                        : kernels == ExpertKernels::kLowLatency ? constants.spread_low_latency
                                                                : constants.spread_normal;
  made.low = made.seconds / std::exp(kTenToNinety * spread);
  made.high = made.seconds * std::exp(kTenToNinety * spread);
  made.basis = after.empty() ? fmt::format("fitted ({} sources)", constants.sources) : "assumed, " + after;
  return made;
}

}  // namespace railbed
