// No healthy path can be below its floor, so only certain parts are included. They follow each other, so they
// add up.
//
// The wire: the whole message with its headers passes the slower link before its last byte arrives. Switches
// are assumed to forward a packet while it still arrives (cut-through), so none of them adds that time again.
//
// A switch: one, if cluster.yaml has "switch". Its model is not visible from a node, so the lowest published
// port-to-port latency of all possible models is used.
//
// PCIe: the adapter has to be notified before anything leaves, and has to write to memory before anything has
// arrived. So each end adds one packet, the shortest possible, on the slowest link of the path.
//
// Not included, because no lower limit of them is published: the cable (5 ns a metre, of unknown length),
// adapters, PCIe bridges, processors, and TCP's path through both kernels. A loopback test does not measure
// these: it has no adapter interrupts, and one processor does the work of both ends.
#include "hardware/latency_floor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "facts/facts.h"

namespace railbed {
namespace {

struct SwitchLatency {
  Nanoseconds time{};
  std::string_view source;
};
constexpr SwitchLatency kLowestOfEthernet{
    Nanoseconds{190},
    "the lowest published: Cisco Nexus 3548 in warp mode (blogs.cisco.com, Algo Boost, 2012)"};
constexpr SwitchLatency kLowestOfInfiniband{
    Nanoseconds{90}, "the lowest published: Mellanox SB7800, Switch-IB 2 (its product brief)"};

// Returns why there is no floor between these ends; empty if there is one.
std::string why_no_floor(const CeilingEnd& a, const CeilingEnd& b) {
  if (a.facts == nullptr || b.facts == nullptr) return "without the facts of both ends";
  if (a.node == b.node) return "both ends are one machine: no wire";
  for (const CeilingEnd* end : {&a, &b})
    if (std::string why = virtual_note(*end); !why.empty()) return why;
  return "";
}

std::optional<LinkRate> slower_link(const CeilingEnd& a, const CeilingEnd& b, Wire wire) {
  auto of_a = link_rate(a, wire);
  auto of_b = link_rate(b, wire);
  return of_a && (!of_b || of_a->rate <= of_b->rate) ? of_a : of_b;
}

FloorPart wire_part(const LinkRate& link, const Trip& trip) {
  std::uint64_t bytes = least_wire_bytes(trip.wire, trip.mtu, trip.message_bytes);
  if (trip.to_the_answer) bytes += least_wire_bytes(trip.wire, trip.mtu, 0);
  return {"wire", Nanoseconds{static_cast<double>(bytes) * 8e9 / link.rate.bits_per_second},
          fmt::format("{} bytes with headers at {} ({})", bytes, to_text(link.rate), link.from)};
}

FloorPart switch_part(const Trip& trip) {
  const SwitchLatency& lowest = trip.wire == Wire::kInfiniband ? kLowestOfInfiniband : kLowestOfEthernet;
  if (trip.to_the_answer) return {"a switch, twice", 2 * lowest.time, std::string(lowest.source)};
  return {"a switch", lowest.time, std::string(lowest.source)};
}

// Returns the time of the shortest packet on the slowest PCIe link of an end; nullopt if no link is known.
std::optional<FloorPart> pcie_part(const CeilingEnd& end) {
  const auto address = adapter_address(end);
  const PciDevice* hop = address ? narrowest_hop(items(end.facts->pci), *address) : nullptr;
  if (hop == nullptr) return std::nullopt;
  const ShortestPacket packet = shortest_packet(*hop->link_now);
  return FloorPart{fmt::format("PCIe of {}", end.node), packet.time,
                   fmt::format("one packet of {} bytes over {} at {} ({})", packet.bytes,
                               describe_link(*hop->link_now), hop->address, hop->link_now.from())};
}

std::vector<std::string> left_out(const Trip& trip) {
  std::vector<std::string> all{"cable", "adapters", is_tcp(trip.wire) ? "both kernels" : "processors"};
  if (!trip.switched) all.emplace_back("a switch, if there is one");
  return all;
}

}  // namespace

Floor latency_floor(const CeilingEnd& a, const CeilingEnd& b, const Trip& trip) {
  if (std::string why = why_no_floor(a, b); !why.empty()) return {{}, std::move(why)};
  const auto link = slower_link(a, b, trip.wire);
  if (!link || link->rate.bits_per_second <= 0) return {{}, fmt::format("{} states no speed", where(a))};
  Floor floor{{wire_part(*link, trip)}, ""};
  if (trip.switched.value_or(false)) floor.parts.push_back(switch_part(trip));
  auto missing = left_out(trip);
  for (const CeilingEnd* end : {&a, &b}) {
    if (auto part = pcie_part(*end))
      floor.parts.push_back(std::move(*part));
    else
      missing.push_back(fmt::format("PCIe of {}", end->node));
  }
  floor.note = fmt::format("not in it: {}", fmt::join(missing, ", "));
  return floor;
}

}  // namespace railbed
