// time = start + ramp × b / (b + h) + b, where b = bytes / rate.
//
// * rate: the limit that binds (path_limits.h), times the efficiency β that such paths reach.
// * start: what the smallest message takes. NCCL's own model gives a latency for it, in which each GPU and
// each
//   node passed costs a step; measured ones are a multiple α of it, for launching and for the processors'
//   work are not in it.
// * ramp: small messages travel by LL and LL128, whose steps are short and whose rate is low, large ones by
//   Simple, whose steps are long, since whole chunks of a buffer are filled, handed to the thread that drives
//   the adapter, and sent. Between them the time grows by a multiple of NCCL's latency for Simple; half of it
//   is reached where b = h.
//
// Where the cluster was measured itself, all of it is multiplied by what that left at such a size
// (measured_curve.h).
//
// Which algorithm and protocol are shown with a size is what NCCL's model chooses for it. The rate is that of
// the algorithm that it chooses for large sizes, for there alone the rate decides.
//
// The band is lognormal, as wide as measured and forecast times lay apart on such paths (calibration.h).
#include "predict/collective_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nccl/version.h"
#include "predict/path_limits.h"

namespace railbed {
namespace {

constexpr double kTenToNinety = 1.2816;  // standard deviations that hold 80 %
constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;
// Of the ramp's own time: where half of it is reached.
constexpr double kHalfWithin = 2.5, kHalfBetween = .25;
// Of the ramp within a node, that the first use of Simple costs at once: filling the first chunk.
constexpr double kFirstChunk = .05;
// Of the start, where nobody launches for several GPUs in turn. Ours: 9.5 µs on two H100, where nccl-tests
// took 12.2 µs on two H200.
constexpr double kLaunchedApart = .82;
// Half a MiB, a chunk of NCCL's buffers: within a node the ramp is the time that one of every channel takes,
// for the steps of a ring overlap.
constexpr double kChunk = 512 * 1024;
constexpr int kNvlinkChannels = 24, kPcieChannels = 4;
// NVLSTree came with 2.18.
constexpr nccl::Version kNvlsTreeSince{2, 18, 0};

double gigabytes(BitRate rate) { return rate.gigabytes(); }

// alltoall and its like: NCCL tunes none of them. A rank's partners are served in turn, most of it at once.
double point_to_point_latency(const TunedCommunicator& one, NcclProtocol protocol) {
  const bool simple = protocol == NcclProtocol::kSimple;
  const double hop = one.nodes > 1 ? (simple ? 14 : 2.7) : simple ? 3.4 : .6;
  return (simple ? 8.4 : 6.6) + hop + .3 * (one.ranks - 1);
}

double least_latency(const TunedCommunicator& one, Collective operation, NcclProtocol protocol,
                     const ForecastChoice& choice) {
  if (operation > Collective::kReduce) return point_to_point_latency(one, protocol);
  double least = 0;
  for (const TuningEstimate& each : tuning_estimates(one, operation, 8)) {
    if (each.protocol != protocol || (choice.algorithm && each.algorithm != *choice.algorithm)) continue;
    if (least == 0 || each.latency < least) least = each.latency;
  }
  return least > 0 ? least : tuning_latency(one, operation, NcclAlgorithm::kRing, protocol);
}

// EFA delivers out of order, so LL and LL128 are off, and NCCL's ring was seen for small sizes too: about
// 10 µs a rank. A deep tree takes over where the ring gets absurd.
double efa_start(const TunedCommunicator& one, Collective operation) {
  const double ring = tuning_latency(one, operation, NcclAlgorithm::kRing, NcclProtocol::kSimple);
  if (operation != Collective::kAllReduce) return ring;
  return std::min(ring, 8 * tuning_latency(one, operation, NcclAlgorithm::kTree, NcclProtocol::kSimple));
}

std::optional<TuningEstimate> chosen(const TunedCommunicator& one, Collective operation, std::uint64_t bytes,
                                     const ForecastChoice& choice) {
  for (const TuningEstimate& each : tuning_estimates(one, operation, bytes))
    if (!choice.algorithm || each.algorithm == *choice.algorithm) return each;
  return std::nullopt;
}

NcclAlgorithm algorithm_of_large(const TunedCommunicator& one, Collective operation,
                                 const ForecastChoice& choice) {
  if (choice.algorithm) return *choice.algorithm;
  if (operation == Collective::kAllReduce && one.nvls)
    return one.nodes > 1 ? NcclAlgorithm::kNvlsTree : NcclAlgorithm::kNvls;
  const auto large = chosen(one, operation, kLarge, choice);
  return large ? large->algorithm : NcclAlgorithm::kRing;
}

// The limit that leaves least once each has its efficiency.
PathLimit binding_limit(std::vector<PathLimit> limits, const Calibration& calibration) {
  for (PathLimit& one : limits) {
    const double efficiency = calibration.of(one.path).efficiency;
    one.limit.source +=
        fmt::format("; {:.0f} % of it reached ({})", efficiency * 100, calibration.of(one.path).from);
    one.limit.rate = one.limit.rate * efficiency;
  }
  return *std::ranges::min_element(limits, {}, [](const PathLimit& one) { return one.limit.rate; });
}

double chunk_time(const ClusterShape& shape) {
  const int channels = shape.nvlinks > 0 ? kNvlinkChannels : kPcieChannels;
  return kChunk * channels / std::max(1e-6, gigabytes(shape.link_rate)) / 1e3;
}

struct Latencies {
  double start = 0;  // µs
  double ramp = 0;
  PathKind path = PathKind::kNvlink;  // whose constants they are
};

Latencies latencies_of(const ClusterShape& shape, const TunedCommunicator& one, Collective operation,
                       PathKind binding, const Calibration& calibration, const ForecastChoice& choice) {
  const bool between = shape.domains() > 1;
  Latencies made;
  made.path = between ? network_path(shape.nic) : binding;
  // Small messages of one node never take the way through the switch.
  const PathConstants& starting = calibration.of(between ? made.path : local_path(shape));
  const double launched = starting.start * (choice.launched_apart && !between ? kLaunchedApart : 1);
  const double alpha = choice.from_graph ? std::min(1.0, launched) : launched;
  const bool efa = between && shape.nic == NicKind::kEfa;
  made.start =
      alpha * (efa ? efa_start(one, operation) : least_latency(one, operation, NcclProtocol::kLl, choice));
  made.ramp = calibration.of(made.path).ramp *
              (between ? least_latency(one, operation, NcclProtocol::kSimple, choice) : chunk_time(shape));
  return made;
}

double ramp_time(double whole, double transfer, bool between, bool simple) {
  if (whole <= 0) return 0;
  const double half = whole * (between ? kHalfBetween : kHalfWithin);
  const double first = !between && simple ? kFirstChunk * half : 0;
  return whole * (transfer + first) / (transfer + half);
}

void add_band(Forecast& forecast, double factor, double spread) {
  const double wide = std::exp(kTenToNinety * spread);
  forecast.time_low = forecast.time / wide;
  forecast.time_high = forecast.time * wide;
  forecast.algbw = static_cast<double>(forecast.bytes) * 8e9 / forecast.time;
  forecast.busbw = forecast.algbw * factor;
  forecast.busbw_low = forecast.busbw / wide;
  forecast.busbw_high = forecast.busbw * wide;
}

// `learnt`: measured ÷ forecast time where the cluster was measured itself.
void add_parts(Forecast& forecast, const Latencies& latencies, double ramp, double transfer, double learnt) {
  const auto time = [learnt](double microseconds) { return Nanoseconds{microseconds * 1e3 * learnt}; };
  forecast.parts = {
      {"start", time(latencies.start),
       fmt::format("NCCL's latency for its smallest message, times a constant ({})", forecast.basis)},
      {"ramp", time(ramp), fmt::format("longer steps of larger messages ({})", forecast.basis)},
      {"transfer", time(transfer),
       fmt::format("{}: {:.1f} GB/s of busbw", forecast.limit.name, gigabytes(forecast.limit.rate))},
  };
  if (learnt == 1) return;
  for (ForecastPart& part : forecast.parts)
    part.source += fmt::format("; times {:.2f}, as measured here at such a size", learnt);
}

}  // namespace

CurveSubject curve_subject(const ClusterShape& shape, Collective operation, const ForecastChoice& choice) {
  return {shape.gpu, shape.nodes, shape.gpus, operation, choice.type, choice.from_graph};
}

TunedCommunicator tuned_for(const ClusterShape& shape, const ForecastChoice& choice) {
  TunedCommunicator one;
  one.architecture = shape.architecture;
  one.nodes = shape.domains();
  one.ranks = shape.ranks();
  one.nvlink = shape.nvlinks > 0;
  one.amd = shape.amd;
  const bool alone = one.ranks == one.nodes;
  one.channels = alone ? 1 : !one.nvlink ? 4 : shape.architecture >= GpuArchitecture::kAmpere ? 16 : 12;
  const double link = gigabytes(shape.link_rate);
  const double wire = one.nodes > 1 ? gigabytes(node_wire(shape).rate) * shape.nodes / one.nodes : link;
  one.inter = (alone ? wire : std::min(link, wire)) / one.channels;
  one.intra = one.nodes > 1 ? one.inter : link / one.channels;
  one.ll = one.ll128 = one.nodes == 1 || shape.nic != NicKind::kEfa;
  one.ll128 = one.ll128 && (one.nvlink || alone);
  const auto version = nccl::Version::parse(shape.nccl);
  one.nvls = shape.nvls && one.ranks / one.nodes > 2 && choice.type != DataType::kInt8 &&
             (one.nodes == 1 || !version || *version >= kNvlsTreeSince);
  one.nvls_intra = link / one.nvls_channels;
  one.nvls_inter = wire / one.nvls_channels;
  return one;
}

Forecast forecast_collective(const ClusterShape& shape, Collective operation, std::uint64_t bytes,
                             const Calibration& calibration, const ForecastChoice& choice) {
  Forecast forecast;
  forecast.bytes = bytes;
  const TunedCommunicator one = tuned_for(shape, choice);
  if (one.ranks < 2 || bytes == 0) return forecast;
  const auto now = chosen(one, operation, bytes, choice);
  if (now) {
    forecast.algorithm = now->algorithm;
    forecast.protocol = now->protocol;
  }
  const double factor = bus_factor(operation, one.ranks);
  const PathLimit binding =
      binding_limit(path_limits(shape, operation, algorithm_of_large(one, operation, choice)), calibration);
  forecast.limit = binding.limit;
  const Latencies latencies = latencies_of(shape, one, operation, binding.path, calibration, choice);
  forecast.path = latencies.path;
  forecast.bound = binding.path;
  forecast.basis = calibration.of(latencies.path).from;
  const double transfer =
      static_cast<double>(bytes) * factor / std::max(1e-6, gigabytes(binding.limit.rate)) / 1e3;
  const double ramp =
      ramp_time(latencies.ramp, transfer, shape.domains() > 1, now && now->protocol == NcclProtocol::kSimple);
  const double learnt =
      choice.algorithm ? 1
                       : measured_ratio(calibration.curves, curve_subject(shape, operation, choice), bytes);
  forecast.time = (latencies.start + ramp + transfer) * 1e3 * learnt;
  add_parts(forecast, latencies, ramp, transfer, learnt);
  add_band(forecast, factor, calibration.of(latencies.path).spread[size_range(bytes)]);
  return forecast;
}

}  // namespace railbed
