// A path carries no more than its slowest part, so a ceiling is a list of limits, the lowest first, each with
// its arithmetic.
//
// The wire: the slower end's line rate times the fraction of each packet that is payload. Around the payload
// are all headers, and on Ethernet also preamble, checksum and gap. TCP's MTU includes the IP and TCP
// headers. RDMA's path MTU is payload alone; a message of known length fills its last packet only in part,
// and has the header of the write once. InfiniBand states signalling rates for its old speeds: these are
// converted to data rates first.
//
// PCIe: transfers a second × lanes × encoding × 256 / (256 + overhead of a packet of 256 bytes), at the
// slowest hop between adapter and memory, for each end.
//
// A virtual adapter's speed is only a claim: its ceiling is nominal, so it is shown and never judged.
#include "hardware/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "facts/facts.h"
#include "hardware/pci_link.h"
#include "hardware/spark.h"

namespace railbed {
namespace {

// IEEE 802.3: preamble 7 and start delimiter 1, frame check sequence 4, inter-packet gap 12 (clause 4.4.2).
constexpr Header kPreamble{"preamble", 8};
constexpr Header kEthernet{"Ethernet", 14};
constexpr Header kFcs{"FCS", 4};
constexpr Header kGap{"gap", 12};
constexpr Header kIpv4{"IPv4", 20};           // RFC 791, without options
constexpr Header kIpv6{"IPv6", 40};           // RFC 8200
constexpr Header kTcpHeaderBytes{"TCP", 20};  // RFC 9293
// RFC 7323: ten bytes, padded to twelve; Linux sends them unless net.ipv4.tcp_timestamps is 0.
constexpr Header kTimestamps{"timestamps", 12};
constexpr Header kUdp{"UDP", 8};  // RFC 768
// InfiniBand Architecture Specification, volume 1, chapter 9 and annexes A16 (RoCE), A17 (RoCE v2).
constexpr Header kLrh{"LRH", 8};
constexpr Header kGrh{"GRH", 40};
constexpr Header kBth{"BTH", 12};
constexpr Header kIcrc{"ICRC", 4};
constexpr Header kVcrc{"VCRC", 2};
// Once per message, in its first packet: address, key and length of the write.
constexpr int kReth = 16;

constexpr std::array kTcpIpv4Headers{kPreamble, kEthernet, kIpv4, kTcpHeaderBytes, kTimestamps, kFcs, kGap};
constexpr std::array kTcpIpv6Headers{kPreamble, kEthernet, kIpv6, kTcpHeaderBytes, kTimestamps, kFcs, kGap};
constexpr std::array kRoceV2Ipv4Headers{kPreamble, kEthernet, kIpv4, kUdp, kBth, kIcrc, kFcs, kGap};
constexpr std::array kRoceV2Ipv6Headers{kPreamble, kEthernet, kIpv6, kUdp, kBth, kIcrc, kFcs, kGap};
constexpr std::array kRoceV1Headers{kPreamble, kEthernet, kGrh, kBth, kIcrc, kFcs, kGap};
constexpr std::array kInfinibandHeaders{kLrh, kBth, kIcrc, kVcrc};

// Returns the bytes of the headers that the interface's MTU includes.
int headers_inside_mtu(Wire wire) {
  if (!is_tcp(wire)) return 0;
  return (wire == Wire::kTcpIpv4 ? kIpv4 : kIpv6).bytes + kTcpHeaderBytes.bytes + kTimestamps.bytes;
}

// PCI Express Base Specification 6.0: encoding 8b/10b below 8 GT/s, 128b/130b to 32 GT/s (4.2), 236 TLP bytes
// of each 256-byte flit above. A memory write TLP has a 16-byte header (64-bit address), sequence number 2
// and LCRC 4, framed by 4 bytes (2 below 8 GT/s); flits need neither framing nor LCRC per packet.
// The share of transfers that is data, and the bytes around the payload of a packet.
struct PcieCoding {
  double encoding = 0;
  int packet_overhead = 0;
};
PcieCoding coding_of(double gigatransfers) {
  if (gigatransfers < 8) return {0.8, 24};
  if (gigatransfers <= 32) return {128.0 / 130.0, 26};
  return {236.0 / 256.0, 16};
}
constexpr double kMaxPayload = 256;
constexpr std::string_view kWire = "wire, ";

std::string terms(Wire wire) {
  std::string text;
  for (const Header& header : headers_of(wire))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", header.name, header.bytes);
  return text;
}

Limit wire_limit(const LinkRate& rate, const std::string& whose, Wire wire, int mtu,
                 std::uint64_t message_bytes) {
  const double efficiency = wire_efficiency(wire, mtu, message_bytes);
  return {fmt::format("{}{} at MTU {}{}", kWire, to_text(rate.rate), mtu, whose), rate.rate * efficiency,
          fmt::format("{} × {:.4f} ({} a packet)", rate.from, efficiency, terms(wire))};
}

// Adds the limit of the slower link. If one end states no speed, only the other one counts and a note names
// the first.
void add_wire(Ceiling& ceiling, const CeilingEnd& a, const CeilingEnd& b, Wire wire, int mtu,
              std::uint64_t message_bytes) {
  const auto rate_a = link_rate(a, wire);
  const auto rate_b = link_rate(b, wire);
  for (const auto& [rate, end] : {std::pair{&rate_a, &a}, std::pair{&rate_b, &b}})
    if (!*rate && ceiling.note.empty()) ceiling.note = fmt::format("{} states no speed", where(*end));
  if (!rate_a && !rate_b) return;
  const bool differ = rate_a && rate_b && rate_a->rate != rate_b->rate;
  const bool first = rate_a && (!rate_b || rate_a->rate <= rate_b->rate);
  const std::string whose = differ ? fmt::format(", the slower link: {}", where(first ? a : b)) : "";
  ceiling.limits.push_back(wire_limit(first ? *rate_a : *rate_b, whose, wire, mtu, message_bytes));
}

// Adds the limit of an end's PCIe path, if it is known.
void add_pcie(Ceiling& ceiling, const CeilingEnd& end) {
  const auto address = adapter_address(end);
  if (!address || !end.facts->pci) return;
  if (auto limit = pcie_limit(*end.facts->pci, *address, end.node))
    ceiling.limits.push_back(std::move(*limit));
}

}  // namespace

// Converts the "rate" of InfiniBand's sysfs to a data rate. sysfs states signalling rates for the old speeds:
// 8b/10b up to QDR, 64b/66b for FDR's 14.0625 Gb/s lanes; FDR10 and EDR onwards are data rates
// (drivers/infiniband/core/sysfs.c, rate_show; InfiniBand specification, volume 2, chapter 5).
BitRate data_rate(const RdmaPort& port) {
  const std::string text = port.rate_text.value_or("");
  const auto ends = [&](std::string_view speed) { return std::string_view(text).ends_with(speed); };
  if (port.link_layer.value_or("") != "InfiniBand") return *port.rate;
  if (ends(" SDR") || ends(" DDR") || ends(" QDR")) return *port.rate * 0.8;
  if (ends(" FDR")) return *port.rate * (54.5454 / 56.0);
  return *port.rate;
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

std::span<const Header> headers_of(Wire wire) {
  switch (wire) {
    case Wire::kTcpIpv4:
      return kTcpIpv4Headers;
    case Wire::kTcpIpv6:
      return kTcpIpv6Headers;
    case Wire::kRoceV2Ipv4:
      return kRoceV2Ipv4Headers;
    case Wire::kRoceV2Ipv6:
      return kRoceV2Ipv6Headers;
    case Wire::kRoceV1:
      return kRoceV1Headers;
    case Wire::kInfiniband:
      return kInfinibandHeaders;
  }
  return {};
}

int overhead_of(Wire wire) {
  const auto headers = headers_of(wire);
  return std::accumulate(headers.begin(), headers.end(), 0,
                         [](int sum, const Header& header) { return sum + header.bytes; });
}

double wire_efficiency(Wire wire, int mtu, std::uint64_t message_bytes) {
  const int payload = mtu - headers_inside_mtu(wire);
  if (payload <= 0) return 0;
  if (is_tcp(wire) || message_bytes == 0)
    return static_cast<double>(payload) / static_cast<double>(payload + overhead_of(wire));
  const auto message = static_cast<double>(message_bytes);
  const double packets = std::ceil(message / payload);
  return message / (message + packets * overhead_of(wire) + kReth);
}

std::uint64_t least_wire_bytes(Wire wire, int mtu, std::uint64_t message_bytes) {
  const int timestamps = is_tcp(wire) ? kTimestamps.bytes : 0;
  const int payload = mtu - headers_inside_mtu(wire) + timestamps;
  if (payload <= 0) return 0;
  const auto size = static_cast<std::uint64_t>(payload);
  const std::uint64_t packets = std::max<std::uint64_t>(1, message_bytes / size + (message_bytes % size > 0));
  const int gap = wire == Wire::kInfiniband ? 0 : kGap.bytes;
  return message_bytes + packets * static_cast<std::uint64_t>(overhead_of(wire) - timestamps) -
         static_cast<std::uint64_t>(gap);
}

std::optional<std::string> adapter_address(const CeilingEnd& end) {
  if (const NetInterface* interface = find_interface(end.facts->net, end.interface))
    if (interface->pci_address) return *interface->pci_address;
  if (const RdmaPortRef rdma = rdma_port_of(end.facts->rdma, end.facts->net, end.interface))
    if (rdma.device->pci_address) return *rdma.device->pci_address;
  return std::nullopt;
}

BitRate pcie_rate(const PcieLink& link) {
  const PcieCoding coding = coding_of(link.gigatransfers);
  return BitRate::gigabits(link.gigatransfers * link.width * coding.encoding * kMaxPayload /
                           (kMaxPayload + coding.packet_overhead));
}

ShortestPacket shortest_packet(const PcieLink& link) {
  constexpr int kData = 4;
  const PcieCoding coding = coding_of(link.gigatransfers);
  const int bytes = kData + coding.packet_overhead;
  return {bytes, Nanoseconds{bytes * 8 / (link.gigatransfers * link.width * coding.encoding)}};
}

const PciDevice* narrowest_hop(const std::vector<PciDevice>& devices, std::string_view address) {
  const PciDevice* device = find_pci(devices, address);
  if (device == nullptr) return nullptr;
  const PciDevice* narrowest = nullptr;
  // A hypervisor's bridge and the ends of a tunnel state links that carry no data.
  const auto links = links_above(devices, *device);
  const auto states_link = [&](const PciDevice* port) {
    return std::ranges::any_of(links, [&](const RealLink& link) {
      return (link.lower == port || link.upper == port) && link.state != PcieState::kTunnel &&
             link.state != PcieState::kNoData;
    });
  };
  for (const PciDevice* hop : path_to_root(devices, *device))
    if (states_link(hop) && hop->link_now && hop->link_now->width > 0 && hop->link_now->gigatransfers > 0 &&
        (narrowest == nullptr || pcie_rate(*hop->link_now) < pcie_rate(*narrowest->link_now)))
      narrowest = hop;
  return narrowest;
}

std::optional<Limit> pcie_limit(const std::vector<PciDevice>& devices, std::string_view address,
                                std::string_view node) {
  const PciDevice* device = find_pci(devices, address);
  const PciDevice* narrowest = narrowest_hop(devices, address);
  if (narrowest == nullptr) return std::nullopt;
  const std::string where =
      fmt::format("{} at {} of {}", describe_link(*narrowest->link_now), narrowest->address, node);
  const BitRate rate = pcie_rate(*narrowest->link_now);
  if (is_spark_function(devices, *device) && kSparkFunctionRate < rate)
    return Limit{where, kSparkFunctionRate, "what is published of one function of a DGX Spark's adapter"};
  return Limit{
      where, rate,
      fmt::format("{}, less encoding and TLP headers at 256 bytes of payload", narrowest->link_now.from())};
}

std::string describe_link(const PcieLink& link) { return fmt::format("PCIe {}", to_text(link)); }

Ceiling path_ceiling(const CeilingEnd& a, const CeilingEnd& b, Wire wire, int mtu,
                     std::uint64_t message_bytes) {
  Ceiling ceiling;
  if (a.facts == nullptr || b.facts == nullptr) {
    ceiling.note = "without the facts of both ends";
    return ceiling;
  }
  if (a.node == b.node) {
    ceiling.nominal = true;
    ceiling.note = "both ends are one machine: no wire, memory and processor bind";
    return ceiling;
  }
  for (const CeilingEnd* end : {&a, &b}) {
    const std::string note = virtual_note(*end);
    if (note.empty()) continue;
    ceiling.nominal = true;
    if (ceiling.note.empty()) ceiling.note = note;
  }
  add_wire(ceiling, a, b, wire, mtu, message_bytes);
  add_pcie(ceiling, a);
  add_pcie(ceiling, b);
  std::stable_sort(ceiling.limits.begin(), ceiling.limits.end(),
                   [](const Limit& x, const Limit& y) { return x.rate < y.rate; });
  return ceiling;
}

void add_pcie_limit(Ceiling& path, const std::vector<PciDevice>& devices, std::string_view address,
                    std::string_view node) {
  if (auto limit = pcie_limit(devices, address, node)) path.limits.push_back(std::move(*limit));
  std::ranges::stable_sort(path.limits, {}, &Limit::rate);
}

const Limit* find_wire(const Ceiling& ceiling) {
  const auto found =
      std::ranges::find_if(ceiling.limits, [](const Limit& limit) { return limit.name.starts_with(kWire); });
  return found == ceiling.limits.end() ? nullptr : &*found;
}

}  // namespace railbed
