// Within one NVLink network each protocol has its own curve (nvlink_time.h), and the time to launch does not
// depend on the GPUs. Elsewhere the curve is smooth:
//
//   time = start + ramp × b / (b + h) + b, where b = bytes / rate; between nodes start + ramp / (1 + √(h / b)) + b,
//   because sizes from 64 KiB to 64 MiB pass through one protocol after the other there.
//
// * rate: the binding limit (path_limits.h) times the efficiency β that such paths reach.
// * start: the time of the smallest message. NCCL's own model gives a latency for it, in which each GPU and
//   each node passed costs a step. Measured ones are a multiple α of it, because launching and the
//   processors' work are not in it.
// * ramp: small messages use LL and LL128, with short steps and a low rate. Large ones use Simple, with
//   long steps, since whole chunks of a buffer are filled, passed to the thread that drives the adapter, and
//   sent. Between them the time grows by a multiple of NCCL's latency for Simple; half of it is reached where
//   b = h. An NVLink network larger than a board (NVL72) fills in addition.
//
// If the cluster itself was measured, the total is multiplied by the remaining ratio at that size
// (measured_curve.h).
//
// The algorithm and protocol of a forecast are those that NCCL's model chooses for this size. The rate is
// that of the algorithm that it chooses for large sizes, because the rate matters only there.
//
// The band is lognormal, as wide as the spread of measured / forecast times on such paths (calibration.h).
#include "predict/collective_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nccl/version.h"
#include "predict/nvlink_time.h"
#include "predict/path_limits.h"
#include "predict/time_parts.h"

namespace railbed {
namespace {

constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;
// The transfer time at which half of the ramp is reached, as a multiple of the ramp's time.
constexpr double kHalfWithin = 2.5, kHalfBetween = .12;
// The share of that transfer time by which the ramp starts higher within a node, when Simple is used: the
// first chunk has to be filled.
constexpr double kFirstChunk = .05;
// Factor of the start if each GPU has its own launching thread. Ours: 9.5 µs on two H100, where nccl-tests
// took 12.2 µs on two H200.
constexpr double kLaunchedApart = .82;
// Over PCIe the ramp is the time of one chunk per channel, because the steps of a ring overlap.
constexpr int kPcieChannels = 4;
// µs for each GPU of an NVLink network larger than a board until NVLS is full, in one such network. Over
// several it grows with the square of half the tree's depth and one. Ours, after one, two and twenty racks of
// 72 GB200, where 0.5, 0.9 and 5.4 ms remain for no data.
constexpr double kFillEach = 7;
constexpr int kBoard = 8;
// NVLSTree came with 2.18.
constexpr nccl::Version kNvlsTreeSince{2, 18, 0};

double gigabytes(BitRate rate) { return rate.gigabytes(); }

// µs for each partner of a rank, within a node and between nodes. Ours: alltoall over 16 B200 takes 37 µs where
// sendrecv takes 15.
constexpr double kPartnerWithin = .3, kPartnerBetween = 1.4;

// Returns the latency in µs of operations such as alltoall, which NCCL does not tune. A rank's partners are
// served in turn, mostly at the same time.
double point_to_point_latency(const TunedCommunicator& communicator, Collective operation,
                              NcclProtocol protocol) {
  const bool simple = protocol == NcclProtocol::kSimple;
  const bool between = communicator.nodes > 1;
  const double hop = between ? (simple ? 14 : 2.7) : simple ? 3.4 : .6;
  const int partners = operation == Collective::kSendReceive ? 1 : communicator.ranks - 1;
  return (simple ? 8.4 : 6.6) + hop + (between ? kPartnerBetween : kPartnerWithin) * partners;
}

// Returns the least latency in µs that NCCL's model has for the smallest message with this protocol.
double least_latency(const TunedCommunicator& communicator, Collective operation, NcclProtocol protocol,
                     const ForecastChoice& choice) {
  if (!is_tuned(operation)) return point_to_point_latency(communicator, operation, protocol);
  double least = 0;
  for (const TuningEstimate& each : tuning_estimates(communicator, operation, 8)) {
    if (each.protocol != protocol || (choice.algorithm && each.algorithm != *choice.algorithm)) continue;
    if (least == 0 || each.latency < least) least = each.latency;
  }
  return least > 0 ? least : tuning_latency(communicator, operation, NcclAlgorithm::kRing, protocol);
}

// Returns the µs until the chunks of all GPUs of a large NVLink network are on their way.
double filling_time(const TunedCommunicator& communicator, Collective operation) {
  const int inside = communicator.ranks / communicator.nodes;
  if (!communicator.nvls || operation != Collective::kAllReduce || inside <= kBoard) return 0;
  const double levels = 1 + std::log2(communicator.nodes) / 2;
  return kFillEach * inside * levels * levels;
}

std::optional<TuningEstimate> chosen(const TunedCommunicator& communicator, Collective operation,
                                     std::uint64_t bytes, const ForecastChoice& choice) {
  for (const TuningEstimate& each : tuning_estimates(communicator, operation, bytes))
    if (!choice.algorithm || each.algorithm == *choice.algorithm) return each;
  return std::nullopt;
}

NcclAlgorithm algorithm_of_large(const TunedCommunicator& communicator, Collective operation,
                                 const ForecastChoice& choice) {
  if (choice.algorithm) return *choice.algorithm;
  if (operation == Collective::kAllReduce && communicator.nvls)
    return communicator.nodes > 1 ? NcclAlgorithm::kNvlsTree : NcclAlgorithm::kNvls;
  const auto large = chosen(communicator, operation, kLarge, choice);
  return large ? large->algorithm : NcclAlgorithm::kRing;
}

// Returns the lowest limit after each was multiplied by its efficiency.
PathLimit binding_limit(std::vector<PathLimit> limits, const Calibration& calibration) {
  for (PathLimit& limit : limits) {
    const double efficiency = calibration.of(limit.path).efficiency;
    limit.limit.source +=
        fmt::format("; {:.0f} % of it reached ({})", efficiency * 100, calibration.of(limit.path).from);
    limit.limit.rate = limit.limit.rate * efficiency;
  }
  return *std::ranges::min_element(limits, {}, [](const PathLimit& limit) { return limit.limit.rate; });
}

// Parts of the time in microseconds; the path whose constants apply; and the name of the limit.
struct Timing {
  PathKind path = PathKind::kNvlink;
  std::string through;
  double launch = 0, start = 0, ramp = 0, transfer = 0;
  double sum() const { return launch + start + ramp + transfer; }
};

// The input of a forecast, and NCCL's choice for it.
struct Subject {
  const ClusterShape& shape;
  const TunedCommunicator& communicator;
  Collective operation;
  std::uint64_t bytes;
  const ForecastChoice& choice;
  std::optional<TuningEstimate> chosen;
};

// Returns an estimate for alltoall and similar operations, with the rate of a broadcast by ring.
TuningEstimate point_to_point(const TunedCommunicator& communicator, Collective operation,
                              NcclProtocol protocol) {
  TuningEstimate made{NcclAlgorithm::kRing, protocol,
                      point_to_point_latency(communicator, operation, protocol), 0, 0};
  for (const TuningEstimate& each : tuning_estimates(communicator, Collective::kBroadcast, 8))
    if (each.algorithm == made.algorithm && each.protocol == protocol)
      made.algbw = each.algbw / bus_factor(operation, communicator.ranks);
  return made;
}

// Returns the share of the links that sendrecv uses within a node: NCCL gives each 16 MiB of a message a channel,
// and no message less than an eighth of them. Ours, after eight B200 (32 channels) and eight A100 (16).
double sent_share(const Subject& subject) {
  constexpr double kEachChannel = 16 << 20, kLeast = .125;
  if (subject.operation != Collective::kSendReceive) return 1;
  const int channels = subject.shape.architecture >= GpuArchitecture::kBlackwell ? 32 : 16;
  return std::clamp(static_cast<double>(subject.bytes) / (kEachChannel * channels), kLeast, 1.0);
}

Timing nvlink_timing_of(const Subject& subject, const TuningEstimate& chosen,
                        const Calibration& calibration) {
  const PathLimit limit =
      binding_limit(path_limits(subject.shape, subject.operation, chosen.algorithm), calibration);
  const NvlinkTime time = nvlink_time(subject.operation, subject.communicator.ranks, subject.bytes, chosen,
                                      calibration.of(limit.path),
                                      {limit.limit.rate * sent_share(subject), subject.shape.link_rate});
  return {limit.path, limit.limit.name, 0, time.start, time.ramp, time.transfer};
}

Timing nvlink_timing(const Subject& subject, const Calibration& calibration) {
  Timing made;
  if (subject.chosen) {
    made = nvlink_timing_of(subject, *subject.chosen, calibration);
  } else {
    const auto by = [&](NcclProtocol protocol) {
      return nvlink_timing_of(subject, point_to_point(subject.communicator, subject.operation, protocol),
                              calibration);
    };
    made = std::min(by(NcclProtocol::kLl), by(NcclProtocol::kSimple),
                    [](const Timing& a, const Timing& b) { return a.sum() < b.sum(); });
  }
  if (subject.chosen && subject.chosen->algorithm == NcclAlgorithm::kNvls) {
    const double filling = filling_time(subject.communicator, subject.operation);
    made.ramp += ramp_time(filling, made.transfer, kHalfBetween * filling);
  }
  if (subject.choice.from_graph) return made;
  const double on_gpus = made.sum();
  made.launch = launched_time(on_gpus, launch_time(subject.operation, subject.shape.gpus,
                                                   subject.choice.launched_apart)) -
                on_gpus;
  return made;
}

Timing smooth_timing(const Subject& subject, const PathLimit& binding, const Calibration& calibration) {
  const bool between = subject.shape.domains() > 1;
  Timing made;
  made.path = between ? network_path(subject.shape.nic) : binding.path;
  made.through = binding.limit.name;
  const PathConstants& constants = calibration.of(made.path);
  const double launched = constants.start * (subject.choice.launched_apart && !between ? kLaunchedApart : 1);
  const double alpha = subject.choice.from_graph ? std::min(1.0, launched) : launched;
  // Where a network does not permit LL, the constant of its kind has what that costs.
  TunedCommunicator any = subject.communicator;
  any.ll = true;
  const auto least = [&](NcclProtocol protocol) {
    return least_latency(any, subject.operation, protocol, subject.choice);
  };
  made.start = alpha * least(NcclProtocol::kLl);
  made.transfer = transfer_time(
      static_cast<double>(subject.bytes) * bus_factor(subject.operation, subject.communicator.ranks),
      binding.limit.rate);
  const bool simple = subject.chosen && subject.chosen->protocol == NcclProtocol::kSimple;
  const double whole =
      constants.ramp * (between ? least(NcclProtocol::kSimple)
                                : transfer_time(kPcieChannels * kNcclChunkBytes, subject.shape.link_rate));
  const double half = whole * (between ? kHalfBetween : kHalfWithin);
  made.ramp = between ? gradual_ramp_time(whole, made.transfer, half)
                      : ramp_time(whole, made.transfer, half, simple ? kFirstChunk * half : 0);
  if (between) {
    const double filling = filling_time(subject.communicator, subject.operation);
    made.ramp += ramp_time(filling, made.transfer, kHalfBetween * filling);
  }
  return made;
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

// Adds the parts. `learnt` is measured / forecast time if the cluster itself was measured, else 1.
void add_parts(Forecast& forecast, const Timing& timing, double factor, double learnt) {
  const auto time = [learnt](double microseconds) { return Nanoseconds{microseconds * 1e3 * learnt}; };
  if (timing.launch > 0)
    forecast.parts.push_back({"launch", time(timing.launch),
                              "what the processor takes to launch it, beyond the GPUs' time (measured on two "
                              "and four H100 and H200)"});
  forecast.parts.push_back(
      {"start", time(timing.start),
       fmt::format("NCCL's latency for its smallest message, times a constant ({})", forecast.basis)});
  forecast.parts.push_back(
      {"ramp", time(timing.ramp), fmt::format("longer steps of larger messages ({})", forecast.basis)});
  forecast.parts.push_back(
      {"transfer", time(timing.transfer),
       fmt::format("{}: {:.1f} GB/s of busbw", timing.through,
                   static_cast<double>(forecast.bytes) * factor / timing.transfer / 1e3)});
  if (learnt == 1) return;
  for (ForecastPart& part : forecast.parts)
    part.source += fmt::format("; times {:.2f}, as measured here at such a size", learnt);
}

}  // namespace

CurveSubject curve_subject(const ClusterShape& shape, Collective operation, const ForecastChoice& choice) {
  return {shape.gpu, shape.nodes, shape.gpus, operation, choice.type, choice.from_graph};
}

// Returns the rate within a node that NCCL's choice reckons with. Its search gives each of Hopper's 12 channels 30 GB/s,
// since the next rate of its table does not fit the links' 370.8 ("nChannels 12, bw 30.000000", NVIDIA/nccl#1197 and
// four H200 here); A100's 240 fit whole.
double searched_rate(const ClusterShape& shape) {
  constexpr double kHopper = 12 * 30;
  const double link = gigabytes(shape.link_rate);
  const bool searched = shape.link == GpuLink::kNvswitch && shape.architecture == GpuArchitecture::kHopper;
  return searched && link > kHopper ? kHopper : link;
}

TunedCommunicator tuned_for(const ClusterShape& shape, const ForecastChoice& choice) {
  TunedCommunicator communicator;
  communicator.architecture = shape.architecture;
  communicator.nodes = shape.domains();
  communicator.ranks = shape.ranks();
  communicator.nvlink = shape.nvlinks > 0;
  communicator.amd = shape.amd;
  const bool alone = communicator.ranks == communicator.nodes;
  communicator.channels = alone                                            ? 1
                          : !communicator.nvlink                           ? 4
                          : shape.architecture >= GpuArchitecture::kAmpere ? 16
                                                                           : 12;
  const double link = gigabytes(shape.link_rate);
  const double wire =
      communicator.nodes > 1 ? gigabytes(used_wire(shape).rate) * shape.nodes / communicator.nodes : link;
  communicator.inter = (alone ? wire : std::min(link, wire)) / communicator.channels;
  communicator.intra =
      communicator.nodes > 1 ? communicator.inter : searched_rate(shape) / communicator.channels;
  communicator.ll = communicator.ll128 = communicator.nodes == 1 || shape.nic != NicKind::kEfaV1;
  communicator.ll128 = communicator.ll128 && (communicator.nvlink || alone);
  const auto version = nccl::Version::parse(shape.nccl);
  communicator.nvls = shape.nvls && communicator.ranks / communicator.nodes > 2 &&
                      choice.type != DataType::kInt8 &&
                      (communicator.nodes == 1 || !version || *version >= kNvlsTreeSince);
  communicator.nvls_intra = link / communicator.nvls_channels;
  communicator.nvls_inter = wire / communicator.nvls_channels;
  return communicator;
}

Forecast forecast_collective(const ClusterShape& shape, Collective operation, std::uint64_t bytes,
                             const Calibration& calibration, const ForecastChoice& choice) {
  Forecast forecast;
  forecast.bytes = bytes;
  const TunedCommunicator communicator = tuned_for(shape, choice);
  if (communicator.ranks < 2 || bytes == 0) return forecast;
  const Subject subject{shape, communicator, operation,
                        bytes, choice,       chosen(communicator, operation, bytes, choice)};
  if (subject.chosen) {
    forecast.algorithm = subject.chosen->algorithm;
    forecast.protocol = subject.chosen->protocol;
  }
  const PathLimit binding = binding_limit(
      path_limits(shape, operation, algorithm_of_large(communicator, operation, choice)), calibration);
  forecast.limit = binding.limit;
  forecast.bound = binding.path;
  const bool by_protocol = shape.domains() == 1 && shape.nvlinks > 0;
  const Timing timing =
      by_protocol ? nvlink_timing(subject, calibration) : smooth_timing(subject, binding, calibration);
  forecast.path = timing.path;
  forecast.basis = calibration.of(timing.path).from;
  const double learnt =
      choice.algorithm ? 1
                       : measured_ratio(calibration.curves, curve_subject(shape, operation, choice), bytes);
  forecast.time = timing.sum() * 1e3 * learnt;
  const double factor = bus_factor(operation, communicator.ranks);
  add_parts(forecast, timing, factor, learnt);
  add_band(forecast, factor, calibration.of(timing.path).spread[size_range(bytes)]);
  return forecast;
}

}  // namespace railbed
