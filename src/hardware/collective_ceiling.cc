// The bus bandwidth of a collective is scaled so that it can be held against the links: it is the rate at
// which a ring through all GPUs would pass data from each to the next. So it cannot exceed what the slowest
// GPU passes on, over its NVLinks or, where it states none, over PCIe. That binds nothing when every GPU is
// alone on its node.
//
// Between nodes it cannot exceed what a node's adapters carry together, since NCCL runs several rings and
// each may take another adapter: the active RDMA ports, or without any all interfaces over TCP. Each rate is
// taken less packet headers.
#include "hardware/collective_ceiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "facts/facts.h"
#include "hardware/ceilings.h"
#include "hardware/gpu_ceilings.h"

namespace railbed {
namespace {

// Of a ring over the nodes, each link of it may go through another port.
std::optional<Limit> rdma_limit(const Facts& facts, const std::string& node) {
  constexpr int kUsualMtu = 4096;
  BitRate sum;
  int ports = 0;
  for (const RdmaDevice& device : items(facts.rdma.devices)) {
    for (const RdmaPort& port : items(device.ports)) {
      if (port.state.value_or("") != "ACTIVE" || !port.rate) continue;
      const bool ethernet = port.link_layer.value_or("") == "Ethernet";
      const double part = wire_efficiency(ethernet ? Wire::kRoceV2Ipv4 : Wire::kInfiniband,
                                          port.active_mtu.value_or(kUsualMtu));
      sum.bits_per_second += port.rate->bits_per_second * part;
      ++ports;
    }
  }
  if (ports == 0) return std::nullopt;
  return Limit{fmt::format("the network of {}, {} RDMA {}", node, ports, ports == 1 ? "port" : "ports"), sum,
               "the sum of the active ports' rates, less packet headers"};
}

// Without RDMA, NCCL's sockets may use every interface that there is.
std::optional<Limit> socket_limit(const Facts& facts, const std::string& node) {
  constexpr int kUsualMtu = 1500;
  BitRate sum;
  int interfaces = 0;
  for (const NetInterface& one : items(facts.net.interfaces)) {
    if (is_virtual(one) || !one.carrier.value_or(false) || one.speed_mbps.value_or(0) <= 0) continue;
    sum.bits_per_second +=
        *one.speed_mbps * 1e6 * wire_efficiency(Wire::kTcpIpv4, one.mtu.value_or(kUsualMtu));
    ++interfaces;
  }
  if (interfaces == 0) return std::nullopt;
  return Limit{fmt::format("the network of {}, {} {} over TCP", node, interfaces,
                           interfaces == 1 ? "interface" : "interfaces"),
               sum, "the sum of the interfaces' speeds, less packet headers"};
}

std::optional<Limit> network_limit(const Facts& facts, const std::string& node) {
  auto limit = rdma_limit(facts, node);
  return limit ? limit : socket_limit(facts, node);
}

}  // namespace

Ceiling collective_ceiling(const CollectiveReport& report, const std::map<std::string, Facts>& facts) {
  Ceiling ceiling;
  std::set<std::string> nodes;
  for (const CollectiveRank& rank : report.ranks) nodes.insert(rank.node);
  if (report.ranks.size() < 2) {
    ceiling.note = "one GPU alone sends nothing";
    return ceiling;
  }
  const bool one_each = nodes.size() == report.ranks.size();
  std::optional<Limit> slowest;
  for (const CollectiveRank& rank : report.ranks) {
    const auto known = facts.find(rank.node);
    if (known == facts.end() || one_each) continue;
    auto limit = nvlink_limit(known->second, rank.gpu.address, rank.node);
    if (!limit && known->second.pci) limit = pcie_limit(*known->second.pci, rank.gpu.address, rank.node);
    if (limit && (!slowest || limit->rate < slowest->rate)) slowest = std::move(limit);
  }
  if (slowest) ceiling.limits.push_back(std::move(*slowest));
  if (nodes.size() > 1)
    for (const std::string& node : nodes)
      if (const auto known = facts.find(node); known != facts.end())
        if (auto limit = network_limit(known->second, node)) ceiling.limits.push_back(std::move(*limit));
  std::ranges::stable_sort(ceiling.limits, {}, &Limit::rate);
  if (ceiling.limits.empty())
    ceiling.note = nodes.size() > 1 ? "no adapter of these nodes states its speed"
                                    : "no link between the GPUs states its speed";
  return ceiling;
}

}  // namespace railbed
