// busbw is scaled so that a ring reaches the rate of its slowest hop. Other algorithms send other amounts:
// * A tree over two nodes sends each byte once each way, while a ring sends it 2(n−1)/n times; so over two
//   nodes busbw reaches up to 2(n−1)/n of the wire. From three nodes on, an inner node of the tree has a
//   parent and children, and the gain is gone.
// * NVSwitch reduces and copies in the network (NVLS): a GPU sends a byte once and receives the sum once.
//   NVLSTree is NVLS in each node and a tree between nodes.
// * In an alltoall only the part for other nodes passes the adapters, each GPU's share of them.
// * With a root, or between neighbors, one GPU's share of the adapters is the limit.
#include "predict/path_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/ceilings.h"
#include "hardware/part_model.h"
#include "nccl/version.h"

namespace railbed {
namespace {

constexpr int kNvlsChannels = 16;
// The efficiencies in NCCL's sources for NVLS.
constexpr double kNvlsHopper = .85, kNvlsBlackwell = .74;
// Ours, in GB/s, after 41 Gb/s over AWS ENA with NCCL 2.3.7: the threads of a few sockets copy no more.
constexpr double kSocketsMost = 6;
// Returns the share of the wire that all_gather and reduce_scatter reach. They pass every rank once, and each
// waits for the one before: published clusters fall from the rate of all_reduce over two nodes to about 200
// of 400 GB/s over 32.
double gathered_share(int nodes) { return std::max(.4, 1 - .117 * std::log2(std::max(1.0, nodes / 2.0))); }

// Within a node a ring also handles each rank's own part, which no link carries: all_gather copies it,
// all_reduce writes the sum. With two GPUs that is as much as passes a link, with many next to nothing. Ours,
// after two H100 and two H200: 278 GB/s of all_gather where all_reduce reaches 342.
constexpr double kOwnGathered = .33, kOwnReduced = .075, kOwnExchanged = .1;

bool divides(Collective operation) {
  return operation == Collective::kAllGather || operation == Collective::kReduceScatter;
}
bool in_switch(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::kNvls || algorithm == NcclAlgorithm::kNvlsTree;
}

Wire wire_of(NicKind nic) {
  if (nic == NicKind::kInfiniband) return Wire::kInfiniband;
  return nic == NicKind::kTcp ? Wire::kTcpIpv4 : Wire::kRoceV2Ipv4;
}

double ring_share(const ClusterShape& shape, Collective operation) {
  if (shape.nvlinks == 0) return 1;  // compared with PCIe a GPU's own memory takes no time
  const double own = divides(operation)                    ? kOwnGathered
                     : operation == Collective::kAllReduce ? kOwnReduced
                     : operation == Collective::kAllToAll  ? kOwnExchanged
                                                           : 0;
  return 1 / (1 + own / (shape.ranks() - 1));
}

PathLimit local_limit(const ClusterShape& shape, NcclAlgorithm algorithm, Collective operation) {
  const auto link = enum_names(shape.link)[static_cast<std::size_t>(shape.link)];
  if (!in_switch(algorithm) || !shape.nvls) {
    const double share = ring_share(shape, operation);
    std::string source = shape.nvlinks > 0 ? fmt::format("{} links, as NCCL counts their rate", shape.nvlinks)
                                           : "16 lanes, as NCCL counts their rate";
    if (share < .99) source += fmt::format(", x {:.2f} for each rank's own part", share);
    return {{std::string(link), shape.link_rate * share, std::move(source)}, local_path(shape)};
  }
  const double factor = bus_factor(operation, shape.ranks());
  const bool blackwell = shape.architecture >= GpuArchitecture::kBlackwell;
  const double share = (blackwell ? kNvlsBlackwell : kNvlsHopper) * (kNvlsChannels - 1) / kNvlsChannels;
  return {{"NVSwitch, reducing on the way", shape.link_rate * (share * factor),
           fmt::format("{:.0f} GB/s of links, {:.0f} % for NVLS in NCCL's sources, x {:.2f} for busbw",
                       shape.link_rate.gigabytes(), share * 100, factor)},
          algorithm == NcclAlgorithm::kNvls ? PathKind::kNvls : PathKind::kNvlsTree};
}

// NCCL's limits of one channel of NVLSTree, for two nodes and for more (src/graph/tuning.cc,
// perChMaxNVLSTreeBws). Blackwell's over several nodes was 43.8 until 2.29.
constexpr double kTreeHopper[] = {57.7, 45.5}, kTreeBlackwell[] = {96, 80}, kTreeBlackwellBefore = 43.8;
constexpr nccl::Version kTreeBlackwellSince{2, 30, 0};
// Channels of NVLSTree: one for each GPU of a board. Over a larger NVLink network ours, after 20 racks of 72
// GB200 that reached 433 GB/s.
constexpr int kTreeChannels = 8, kTreeChannelsOfRack = 10;

PathLimit tree_limit(const ClusterShape& shape) {
  const int inside = shape.ranks() / shape.domains();
  const int channels = inside > kTreeChannels ? kTreeChannelsOfRack : inside;
  const std::size_t column = shape.domains() > 2 ? 1 : 0;
  const auto version = nccl::Version::parse(shape.nccl);
  const bool blackwell = shape.architecture >= GpuArchitecture::kBlackwell;
  const double each = !blackwell                                                 ? kTreeHopper[column]
                      : column == 1 && version && *version < kTreeBlackwellSince ? kTreeBlackwellBefore
                                                                                 : kTreeBlackwell[column];
  return {{"NVLSTree", BitRate::gigabytes(channels * each),
           fmt::format("{} channels of {:.1f} GB/s in NCCL's sources", channels, each)},
          PathKind::kNvlsTree};
}

// Returns the factor by which the wire of a node (or of an NVLink domain) is multiplied.
double wire_share(const ClusterShape& shape, Collective operation, NcclAlgorithm algorithm) {
  const double n = shape.ranks();
  const double inside = n / shape.domains();
  switch (operation) {
    case Collective::kAllReduce:
      return shape.domains() == 2 && algorithm != NcclAlgorithm::kRing ? bus_factor(operation, shape.ranks())
                                                                       : 1;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return gathered_share(shape.domains());
    case Collective::kAllToAll:
      return 1 / inside * (n - 1) / (n - inside);
    case Collective::kBroadcast:
    case Collective::kReduce:
      return 1;
    default:
      return 1 /
             std::min(inside, static_cast<double>(std::max(1, used_adapters(shape))) * shape.domain_nodes);
  }
}

PathLimit network_limit_of(const ClusterShape& shape, Collective operation, NcclAlgorithm algorithm) {
  Limit wire = used_wire(shape);
  const double share =
      wire_share(shape, operation, algorithm) * static_cast<double>(shape.nodes) / shape.domains();
  if (divides(operation) && share < 1) wire.name += fmt::format(", a ring over {} nodes", shape.domains());
  if (share != 1) wire.source += fmt::format(", x {:.2f} for {}", share, to_text(operation));
  wire.rate = wire.rate * share;
  return {wire, network_path(shape.nic)};
}

}  // namespace

PathKind network_path(NicKind nic) {
  constexpr PathKind kKinds[] = {PathKind::kInfiniband, PathKind::kRoce,      PathKind::kEfa,
                                 PathKind::kEfaV1,      PathKind::kSlingshot, PathKind::kTcpxo,
                                 PathKind::kLibfabric,  PathKind::kTcp};
  return kKinds[static_cast<std::size_t>(nic)];
}

PathKind local_path(const ClusterShape& shape) {
  if (shape.link == GpuLink::kHostMemory) return PathKind::kHostMemory;
  if (shape.link != GpuLink::kPcie) return PathKind::kNvlink;
  return shape.link_rate <= slot_rate(3) ? PathKind::kOldPcie : PathKind::kPcie;
}

Limit node_wire(const ClusterShape& shape) {
  const double payload = wire_efficiency(wire_of(shape.nic), shape.mtu);
  const BitRate data =
      shape.nic == NicKind::kInfiniband ? infiniband_data_rate(shape.nic_rate) : shape.nic_rate;
  BitRate each = data * payload;
  Limit limit{fmt::format("{} x {:.0f} Gb/s {}", shape.nics, shape.nic_rate.gigabits(),
                          enum_names(shape.nic)[static_cast<std::size_t>(shape.nic)]),
              {},
              fmt::format("{:.1f} % left for data at MTU {}", payload * 100, shape.mtu)};
  const auto bind = [&](BitRate rate, const char* name, const char* source) {
    if (rate.bits_per_second <= 0 || rate >= each) return;
    each = rate;
    limit.name = fmt::format("{} of {} adapters", name, shape.nics);
    limit.source = source;
  };
  const BitRate wire = each;
  bind(shape.nic_pcie, "PCIe", "the narrowest hop to memory, after coding and packet headers");
  if (shape.nic == NicKind::kTcp)
    bind(BitRate::gigabytes(kSocketsMost), "sockets", "ours, after published runs over 100 Gb/s");
  else if (!shape.gpudirect && !shape.unified)
    bind(std::min(wire, shape.nic_pcie.bits_per_second > 0 ? shape.nic_pcie * shape.ports_of_card : wire) *
             (kStagedShare / shape.ports_of_card),
         "host memory", "staged: 44 % of one port were measured on PCIe Gen3, of an adapter with two ports");
  limit.rate = each * shape.nics;
  return limit;
}

int used_adapters(const ClusterShape& shape) {
  const bool grace = shape.gpu.find("GH") != std::string::npos || shape.gpu.find("GB") != std::string::npos;
  if (grace || shape.unified || !shape.gpudirect || shape.domain_nodes > 1 || shape.nics < 1 ||
      shape.architecture < GpuArchitecture::kAmpere)
    return shape.nics;
  const BitRate slot = shape.nvlinks == 0 ? shape.link_rate : slot_rate(slot_generation(shape));
  const double each = node_wire(shape).rate.bits_per_second / shape.nics;
  const double fed = std::max(1.0, std::ceil(slot.bits_per_second / each));
  return static_cast<int>(std::min<double>(shape.nics, shape.gpus * fed));
}

Limit used_wire(const ClusterShape& shape) {
  Limit wire = node_wire(shape);
  const int used = used_adapters(shape);
  if (used >= shape.nics) return wire;
  wire.rate = wire.rate * (static_cast<double>(used) / shape.nics);
  wire.name = fmt::format("{} of {}", used, wire.name);
  wire.source +=
      fmt::format("; {} that the slots of {} GPU{} feed", used, shape.gpus, shape.gpus > 1 ? "s" : "");
  return wire;
}

std::vector<PathLimit> path_limits(const ClusterShape& shape, Collective operation, NcclAlgorithm algorithm) {
  std::vector<PathLimit> limits;
  const int inside = shape.ranks() / std::max(1, shape.domains());
  if (inside > 1) {
    const bool reduces_on_the_way = operation == Collective::kAllReduce && in_switch(algorithm);
    limits.push_back(local_limit(shape, reduces_on_the_way ? algorithm : NcclAlgorithm::kRing, operation));
  }
  if (shape.domains() > 1) limits.push_back(network_limit_of(shape, operation, algorithm));
  if (inside > 1 && shape.domains() > 1 && operation == Collective::kAllReduce &&
      algorithm == NcclAlgorithm::kNvlsTree)
    limits.push_back(tree_limit(shape));
  return limits;
}

}  // namespace railbed
