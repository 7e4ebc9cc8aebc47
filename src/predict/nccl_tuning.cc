// NCCL's model is one line: t = latency + bytes / bandwidth, for each algorithm and protocol; the smallest t
// is chosen. Latency is a base for the start, plus a step within the node for each GPU passed and a step
// between nodes for each node passed. A ring passes every rank (twice for all_reduce), a tree its depth.
// Bandwidth is the sum of the topology's channels, less what a protocol spends on flags: LL sends 4 bytes of
// data with 4 of flags, LL128 120 with 8, Simple none, at the price of longer steps.
//
// There are two corrections. Trees fall short of the model at middle sizes, by a table for each power of two.
// The latency of Simple all_reduce rings over several nodes counts 1.4 times (before Ampere 1.9) once a
// rank's share of a channel is 64 bytes.
//
// All figures: NCCL 2.30.7, src/graph/tuning.cc.
#include "predict/nccl_tuning.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace railbed {
namespace {

using ByProtocol = std::array<double, 3>;  // LL, LL128, Simple
enum class HopKind { kNvlink, kPcie, kNetwork };

constexpr ByProtocol kTreeBase{6.8, 14, 8.4}, kRingBase{6.6, 14, 8.4}, kPatBase{8, 8, 8};
constexpr std::array<ByProtocol, 3> kTreeHop{{{.6, 1.25, 4}, {1, 1.9, 4}, {5, 8.5, 14}}};
constexpr std::array<ByProtocol, 3> kRingHop{{{.6, 1.9, 3.4}, {1, 2.5, 5.7}, {2.7, 4, 14}}};
constexpr double kNvlsIntra = 25, kNvlsInter = 18, kNvlsTreeIntra = 25, kNvlsTreeInter = 20.9;

// By generation (Volta, Ampere, Hopper, Blackwell), then for one node, two, and more.
using ByNodes = std::array<double, 3>;
constexpr std::array<ByNodes, 4> kLlMost{{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr std::array<double, 4> kRingLl128{20, 20, 36.7, 40};
constexpr std::array<ByNodes, 4> kTreeLl128{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr std::array<ByNodes, 4> kTreeMost{
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};

// Share of the model that trees reach, for each power of two from 64 bytes on.
constexpr std::array<std::array<double, 23>, 3> kTreeReached{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, .92, .92},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};

std::size_t generation(GpuArchitecture architecture) {
  if (architecture >= GpuArchitecture::kBlackwell) return 3;
  if (architecture >= GpuArchitecture::kHopper) return 2;
  return architecture >= GpuArchitecture::kAmpere ? 1 : 0;
}

int log2_floor(std::uint64_t value) { return std::bit_width(std::max<std::uint64_t>(value, 1)) - 1; }

// The values of a communicator that the formulas share.
struct Tuner {
  const TunedCommunicator& communicator;
  Collective operation;
  std::size_t row = generation(communicator.architecture);
  std::size_t column = communicator.nodes <= 2 ? static_cast<std::size_t>(communicator.nodes - 1) : 2;
  double per_node = static_cast<double>(communicator.ranks) / communicator.nodes;

  bool all_reduce() const { return operation == Collective::kAllReduce; }
  bool divides() const {
    return operation == Collective::kAllGather || operation == Collective::kReduceScatter;
  }
  int steps() const {
    return all_reduce() ? 2 * (communicator.ranks - 1)
           : divides()  ? communicator.ranks - 1
                        : communicator.ranks;
  }
  HopKind within() const { return communicator.nvlink ? HopKind::kNvlink : HopKind::kPcie; }

  double ring_busbw(NcclProtocol protocol) const;
  double tree_busbw(NcclProtocol protocol) const;
  double nvls_algbw() const;
  double algbw(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  double between(NcclAlgorithm algorithm, std::size_t p) const;
  double ring_latency(NcclProtocol protocol) const;
  double latency(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  bool considers(NcclAlgorithm algorithm, NcclProtocol protocol) const;
};

double Tuner::ring_busbw(NcclProtocol protocol) const {
  const double all =
      communicator.channels * (communicator.nodes <= 2 ? communicator.intra : communicator.inter);
  // The rate of LL depends on the GPU within one node, on the processor across several.
  const std::size_t ll_row = communicator.nodes == 1 ? row : communicator.amd ? 1 : 0;
  if (protocol == NcclProtocol::kLl) return std::min(kLlMost[ll_row][column], all / 2);
  if (protocol == NcclProtocol::kLl128) return std::min(all * .92, communicator.channels * kRingLl128[row]);
  return all;
}

double Tuner::tree_busbw(NcclProtocol protocol) const {
  const double all =
      communicator.channels * (communicator.nodes <= 2 ? communicator.intra : communicator.inter);
  const double most = std::min(all * .92, communicator.channels * kTreeMost[row][column]);
  const std::size_t ll_row = communicator.nodes == 1 ? row : communicator.amd ? 1 : 0;
  if (protocol == NcclProtocol::kLl) return std::min(most / 3.8, kLlMost[ll_row][column]);
  if (protocol == NcclProtocol::kLl128)
    return std::min(most * (communicator.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                    communicator.channels * kTreeLl128[row][column]);
  return most;
}

// A GPU sends each byte to the switch once and receives the sum once.
double Tuner::nvls_algbw() const {
  const double share =
      communicator.nodes == 1
          ? communicator.nvls_intra
          : std::min(communicator.nvls_intra,
                     communicator.nodes == 2 ? communicator.nvls_inter : communicator.nvls_inter / 2);
  const double efficiency = row >= 3 ? .74 : .85;
  return share * efficiency * (communicator.nvls_channels - 1);
}

double Tuner::algbw(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  switch (algorithm) {
    case NcclAlgorithm::kTree:
      return tree_busbw(protocol) / 2;
    case NcclAlgorithm::kRing:
      return ring_busbw(protocol) * communicator.ranks / steps();
    case NcclAlgorithm::kPat:
      return ring_busbw(protocol) * .75 * communicator.ranks / steps();
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kNvlsTree:
      return nvls_algbw();
  }
  return 0;
}

// Returns the µs of a step between nodes. With one GPU per node nothing hides such a step, and it costs as
// much as in a tree.
double Tuner::between(NcclAlgorithm algorithm, std::size_t p) const {
  const auto network = static_cast<std::size_t>(HopKind::kNetwork);
  const bool tree = algorithm == NcclAlgorithm::kTree || per_node == 1;
  const bool flush = p == static_cast<std::size_t>(NcclProtocol::kSimple);
  return (tree ? kTreeHop : kRingHop)[network][p] + communicator.net_latency * (flush ? 2 : 1);
}

double Tuner::ring_latency(NcclProtocol protocol) const {
  const auto p = static_cast<std::size_t>(protocol);
  const bool simple = protocol == NcclProtocol::kSimple;
  if (operation == Collective::kBroadcast || operation == Collective::kReduce) {
    const auto hop = static_cast<std::size_t>(communicator.nodes == 1 ? within() : HopKind::kNetwork);
    return kRingBase[p] + steps() * (simple ? kTreeHop : kRingHop)[hop][p];
  }
  double inside = kRingHop[static_cast<std::size_t>(within())][p];
  if (communicator.nodes > 1) inside = std::max(inside, (communicator.amd ? 2.0 : 1.0) * (simple ? 3 : 1));
  const int crossing = (communicator.nodes - 1) * (all_reduce() ? 2 : 1);
  return kRingBase[p] + (steps() - crossing) * inside + crossing * between(NcclAlgorithm::kRing, p);
}

double Tuner::latency(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  const auto p = static_cast<std::size_t>(protocol);
  const int depth = log2_floor(static_cast<std::uint64_t>(communicator.nodes));
  switch (algorithm) {
    case NcclAlgorithm::kTree:
      return kTreeBase[p] + 2 * ((per_node - 1) * kTreeHop[static_cast<std::size_t>(within())][p] +
                                 depth * between(NcclAlgorithm::kTree, p));
    case NcclAlgorithm::kRing:
      return ring_latency(protocol);
    case NcclAlgorithm::kNvls:
      return kNvlsIntra + (communicator.nodes > 1 ? kNvlsInter : 0);
    case NcclAlgorithm::kNvlsTree:
      return kNvlsTreeIntra + 2 * depth * kNvlsTreeInter;
    case NcclAlgorithm::kPat:
      return kPatBase[p] + depth * between(NcclAlgorithm::kPat, p) / 3.5 + communicator.ranks * 2.8;
  }
  return 0;
}

bool Tuner::considers(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  const bool simple = protocol == NcclProtocol::kSimple;
  if ((protocol == NcclProtocol::kLl && !communicator.ll) ||
      (protocol == NcclProtocol::kLl128 && !communicator.ll128))
    return false;
  switch (algorithm) {
    case NcclAlgorithm::kRing:
      return true;
    case NcclAlgorithm::kTree:
      return all_reduce();
    case NcclAlgorithm::kNvls:  // over several nodes it needs a network that reduces
      return all_reduce() && simple && communicator.nvls && communicator.nodes == 1 && communicator.ranks > 2;
    case NcclAlgorithm::kNvlsTree:
      return all_reduce() && simple && communicator.nvls && communicator.nodes > 1;
    case NcclAlgorithm::kPat:
      return divides() && simple && communicator.nodes > 1 && communicator.nodes == communicator.ranks;
  }
  return false;
}

TuningEstimate estimate(const Tuner& tuner, NcclAlgorithm algorithm, NcclProtocol protocol,
                        std::uint64_t bytes) {
  const TunedCommunicator& communicator = tuner.communicator;
  TuningEstimate made{algorithm, protocol, tuner.latency(algorithm, protocol),
                      tuner.algbw(algorithm, protocol), 0};
  if (algorithm == NcclAlgorithm::kTree && bytes >= 64 && log2_floor(bytes / 64) < 23)
    made.algbw *=
        kTreeReached[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(log2_floor(bytes / 64))];
  if (algorithm == NcclAlgorithm::kRing && protocol == NcclProtocol::kSimple && communicator.nodes > 1 &&
      tuner.all_reduce() && static_cast<double>(bytes) / communicator.channels / communicator.ranks >= 64)
    made.latency *= tuner.row == 0 ? 1.9 : 1.4;
  made.time = made.latency + static_cast<double>(bytes) / (1000 * made.algbw);
  return made;
}

}  // namespace

bool is_tuned(Collective operation) { return operation <= Collective::kReduce; }

std::vector<TuningEstimate> tuning_estimates(const TunedCommunicator& communicator, Collective operation,
                                             std::uint64_t bytes) {
  std::vector<TuningEstimate> estimates;
  if (communicator.ranks < 2 || !is_tuned(operation)) return estimates;
  const Tuner tuner{communicator, operation};
  for (std::size_t a = 0; a < enum_names(NcclAlgorithm{}).size(); ++a)
    for (std::size_t p = 0; p < enum_names(NcclProtocol{}).size(); ++p) {
      const auto algorithm = static_cast<NcclAlgorithm>(a);
      const auto protocol = static_cast<NcclProtocol>(p);
      if (tuner.considers(algorithm, protocol))
        estimates.push_back(estimate(tuner, algorithm, protocol, bytes));
    }
  std::ranges::stable_sort(estimates, {}, &TuningEstimate::time);
  return estimates;
}

double tuning_latency(const TunedCommunicator& communicator, Collective operation, NcclAlgorithm algorithm,
                      NcclProtocol protocol) {
  return Tuner{communicator, operation}.latency(algorithm, protocol);
}

}  // namespace railbed
