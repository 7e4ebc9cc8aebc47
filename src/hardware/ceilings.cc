// A virtual adapter's speed is only a claim: its ceiling is nominal, so it is shown and never judged.
#include "hardware/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "facts/facts.h"
#include "hardware/part_model.h"
#include "hardware/pci_link.h"
#include "hardware/spark.h"

namespace railbed {
namespace {

// The longest MaxPayload that devices support. ConnectX: "128B, 256B and 512B" (Mellanox community, poll 1025,
// of ConnectX-3), and "DevCap: MaxPayload 512 bytes" of later ones. NVIDIA's GPUs: "DevCap: MaxPayload 256
// bytes" of lspci -vv, from Pascal to Ada.
constexpr int kPayloadOfConnectX = 512;
constexpr int kPayloadOfGpus = 256;

int payload_supported_by(const PciDevice& device) {
  if (device.vendor.value_or(0) == kVendorMellanox) return kPayloadOfConnectX;
  return is_gpu(device) ? kPayloadOfGpus : 0;
}

// Returns the hops from a device up to its root port, or only those below the first that is above `peer`, too.
std::vector<const PciDevice*> hops_of(const std::vector<PciDevice>& devices, const PciDevice& device,
                                      std::string_view peer) {
  auto hops = path_to_root(devices, device);
  const PciDevice* other = peer.empty() ? nullptr : find_pci(devices, peer);
  if (other == nullptr) return hops;
  const auto above_peer = path_to_root(devices, *other);
  const auto met = std::ranges::find_if(
      hops, [&](const PciDevice* hop) { return std::ranges::find(above_peer, hop) != above_peer.end(); });
  hops.erase(met, hops.end());
  return hops;
}

// Returns the link of which the port is an end; null if what the port states is none that data passes: a bridge of a
// hypervisor's, or an end of a tunnel.
const RealLink* link_of_port(const std::vector<RealLink>& links, const PciDevice* port) {
  const auto found = std::ranges::find_if(
      links, [&](const RealLink& link) { return link.lower == port || link.upper == port; });
  if (found == links.end() || found->state == PcieState::kTunnel || found->state == PcieState::kNoData)
    return nullptr;
  return &*found;
}

void lower_to(std::optional<int>& least, const Reading<int>& value) {
  if (value.ok() && (!least || *value < *least)) least = *value;
}

// Returns the wire of the slower link. If one end states no speed, the other one's counts.
WirePart wire_between(const CeilingEnd& a, const CeilingEnd& b, Wire wire, int mtu) {
  WirePart part{.protocol = wire, .mtu = mtu, .data_rate = {}, .slower = "", .source = ""};
  const auto rate_a = link_rate(a, wire);
  const auto rate_b = link_rate(b, wire);
  if (!rate_a && !rate_b) return part;
  const bool first = rate_a && (!rate_b || rate_a->rate <= rate_b->rate);
  const LinkRate& slower = first ? *rate_a : *rate_b;
  part.data_rate = slower.rate;
  part.source = slower.from;
  if (rate_a && rate_b && rate_a->rate != rate_b->rate) part.slower = where(first ? a : b);
  return part;
}

PathEnd end_of(const CeilingEnd& end) {
  PathEnd part{.node = std::string(end.node), .adapter = {}, .memory = MemoryKind::kHost, .gpu = {}};
  const auto address = adapter_address(end);
  if (!end.facts->pci) return part;
  if (address) part.adapter = pcie_path_of(*end.facts->pci, *address, end.node, end.gpu);
  if (end.gpu.empty()) return part;
  part.memory = MemoryKind::kDirect;
  part.gpu = pcie_path_of(*end.facts->pci, end.gpu, end.node, address.value_or(""));
  return part;
}

}  // namespace

// "rate" of InfiniBand's sysfs states the signalling rate of the old speeds (drivers/infiniband/core/sysfs.c,
// rate_show).
BitRate data_rate(const RdmaPort& port) {
  if (port.link_layer.value_or("") != "InfiniBand") return *port.rate;
  const std::string text = port.rate_text.value_or("");
  return *port.rate * infiniband_data_share(text.substr(text.rfind(' ') + 1));
}

std::optional<LinkRate> link_rate(const CeilingEnd& end, Wire wire) {
  if (is_tcp(wire)) {
    const NetInterface* interface = find_interface(end.facts->net, end.interface);
    if (interface == nullptr || !interface->speed_mbps || *interface->speed_mbps <= 0) return std::nullopt;
    return LinkRate{{*interface->speed_mbps * 1e6}, interface->speed_mbps.from()};
  }
  const RdmaPortRef found = rdma_port_of(end.facts->rdma, end.facts->net, end.interface);
  if (!found || !found.port->rate) return std::nullopt;
  return LinkRate{data_rate(*found.port), found.port->rate.from()};
}

std::string where(const CeilingEnd& end) { return fmt::format("{} of {}", end.interface, end.node); }

std::string virtual_note(const CeilingEnd& end) {
  const NetInterface* interface = find_interface(end.facts->net, end.interface);
  const RdmaPortRef rdma = rdma_port_of(end.facts->rdma, end.facts->net, end.interface);
  if (interface == nullptr) return rdma ? "" : fmt::format("{} was not found", where(end));
  if (!is_virtual(*interface)) return "";
  const std::string driver = interface->driver.value_or("");
  return fmt::format("{} is virtual{}: the speed that it reports is not physical", where(end),
                     driver.empty() ? "" : fmt::format(" ({})", driver));
}

bool is_virtual(const NetInterface& interface) {
  const std::string driver = interface.driver.value_or("");
  if (driver.empty()) return !interface.pci_address;
  return driver == "virtio_net" || driver == "vmxnet3" || driver == "hv_netvsc";
}

std::optional<std::string> adapter_address(const CeilingEnd& end) {
  if (const NetInterface* interface = find_interface(end.facts->net, end.interface))
    if (interface->pci_address) return *interface->pci_address;
  if (const RdmaPortRef rdma = rdma_port_of(end.facts->rdma, end.facts->net, end.interface))
    if (rdma.device->pci_address) return *rdma.device->pci_address;
  return std::nullopt;
}

const PciDevice* narrowest_hop(const std::vector<PciDevice>& devices, std::string_view address) {
  const PciDevice* device = find_pci(devices, address);
  if (device == nullptr) return nullptr;
  const PciDevice* narrowest = nullptr;
  // A hypervisor's bridge and the ends of a tunnel state links that carry no data.
  const auto links = links_above(devices, *device);
  for (const PciDevice* hop : path_to_root(devices, *device))
    if (link_of_port(links, hop) != nullptr && hop->link_now && hop->link_now->width > 0 &&
        hop->link_now->gigatransfers > 0 &&
        (narrowest == nullptr || pcie_rate(*hop->link_now) < pcie_rate(*narrowest->link_now)))
      narrowest = hop;
  return narrowest;
}

PciePath pcie_path_of(const std::vector<PciDevice>& devices, std::string_view address, std::string_view node,
                      std::string_view peer) {
  PciePath path;
  const PciDevice* device = find_pci(devices, address);
  if (device == nullptr || is_spark_gpu(*device)) return path;
  path.payload_supported = payload_supported_by(*device);
  if (device->max_read_request) path.max_read_request = *device->max_read_request;
  if (is_spark_function(devices, *device)) path.published = kSparkFunctionRate;
  const auto links = links_above(devices, *device);
  for (const PciDevice* hop : hops_of(devices, *device, peer)) {
    lower_to(path.max_payload, hop->max_payload);
    // The bridge above a GPU has the other end of the GPU's link, and states the same speed.
    if (!hop->link_now || (is_gpu(*device) && hop->address == device->parent.value_or(""))) continue;
    const RealLink* real = link_of_port(links, hop);
    if (real == nullptr) continue;
    const PcieLink link = hop == device ? real->at_work().value_or(*hop->link_now) : *hop->link_now;
    const bool busy = link != *hop->link_now;
    path.hops.push_back({link, fmt::format("{} of {}", hop->address, node),
                         busy ? hop->link_max.from() : hop->link_now.from()});
  }
  return path;
}

std::optional<Limit> pcie_limit(const std::vector<PciDevice>& devices, std::string_view address,
                                std::string_view node, PcieWay way) {
  return pcie_path_limit(pcie_path_of(devices, address, node), way, false);
}

DataPath path_of(const CeilingEnd& from, const CeilingEnd& to, Wire wire, int mtu) {
  return {end_of(from), wire_between(from, to, wire, mtu), end_of(to), {}};
}

Ceiling path_ceiling(const CeilingEnd& from, const CeilingEnd& to, Wire wire, int mtu,
                     const Traffic& traffic) {
  Ceiling ceiling;
  if (from.facts == nullptr || to.facts == nullptr) {
    ceiling.note = "without the facts of both ends";
    return ceiling;
  }
  if (from.node == to.node) {
    ceiling.nominal = true;
    ceiling.note = "both ends are one machine: no wire, memory and processor bind";
    return ceiling;
  }
  ceiling = limits(path_of(from, to, wire, mtu), traffic);
  ceiling.note.clear();
  for (const CeilingEnd* end : {&from, &to}) {
    const std::string note = virtual_note(*end);
    if (note.empty()) continue;
    ceiling.nominal = true;
    if (ceiling.note.empty()) ceiling.note = note;
  }
  for (const CeilingEnd* end : {&from, &to})
    if (!link_rate(*end, wire) && ceiling.note.empty())
      ceiling.note = fmt::format("{} states no speed", where(*end));
  return ceiling;
}

void add_pcie_limit(Ceiling& path, const std::vector<PciDevice>& devices, std::string_view address,
                    std::string_view node, PcieWay way) {
  if (auto limit = pcie_limit(devices, address, node, way)) path.limits.push_back(std::move(*limit));
  std::ranges::stable_sort(path.limits, {}, &Limit::rate);
}

}  // namespace railbed
