// The most that a path can carry, from what its parts state: arithmetic on facts, nothing measured.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "facts/pcie.h"
#include "results/measurement.h"

namespace railbed {

struct Facts;
struct NetInterface;
struct RdmaPort;

// What wraps the payload of one packet.
enum class Wire { kTcpIpv4, kTcpIpv6, kRoceV2Ipv4, kRoceV2Ipv6, kRoceV1, kInfiniband };
constexpr bool is_tcp(Wire wire) { return wire == Wire::kTcpIpv4 || wire == Wire::kTcpIpv6; }

struct Header {
  std::string_view name;
  int bytes = 0;
};
// Everything on the wire that is not payload, in order, gaps included.
std::span<const Header> headers_of(Wire wire);
int overhead_of(Wire wire);
// The part of the line rate left for payload. `mtu` is the interface's for TCP and the path MTU for RDMA, as
// each counts it. `message_bytes` 0 stands for messages so long that their length does not matter; TCP joins
// what is written, so it is heeded for RDMA only.
double wire_efficiency(Wire wire, int mtu, std::uint64_t message_bytes = 0);
// What passes the wire at least before a message has arrived: all its packets but the last one's gap, without
// what only some of them have (timestamps of TCP, the header of a write).
std::uint64_t least_wire_bytes(Wire wire, int mtu, std::uint64_t message_bytes);

// What a port's rate leaves for data after the link's coding. Only where the port states a rate.
BitRate data_rate(const RdmaPort& port);

// The rate left for data on a PCIe link after encoding and packet headers at a maximum payload of 256 bytes.
BitRate pcie_rate(const PcieLink& link);
// How long this link is busy with the shortest packet that carries data, four bytes.
struct ShortestPacket {
  int bytes = 0;
  Nanoseconds time{};
};
ShortestPacket shortest_packet(const PcieLink& link);
// "PCIe Gen3 x8"
std::string describe_link(const PcieLink& link);

// Of the hops between the device at `address` and memory the one with the narrowest link. Null where none
// states a link, as of virtual devices.
const PciDevice* narrowest_hop(const std::vector<PciDevice>& devices, std::string_view address);
// What the device's data can pass there at most.
std::optional<Limit> pcie_limit(const std::vector<PciDevice>& devices, std::string_view address,
                                std::string_view node);

// Whether the speed that the interface states is a claim alone, with no link of its own behind it.
bool is_virtual(const NetInterface& interface);

struct CeilingEnd {
  std::string_view node;
  std::string_view interface;
  const Facts* facts = nullptr;
};

// What an end states of its link (TCP: the interface, RDMA: the port), as a rate of data, and where.
struct LinkRate {
  BitRate rate;
  std::string from;
};
std::optional<LinkRate> link_rate(const CeilingEnd& end, Wire wire);
// "ens6 of gpu01"
std::string where(const CeilingEnd& end);
// Why this end's stated speed binds nothing real; empty for an adapter on PCIe.
std::string virtual_note(const CeilingEnd& end);

// The PCI address of the adapter behind an end that has facts; nothing of virtual ones.
std::optional<std::string> adapter_address(const CeilingEnd& end);

// Every limit of the path between two ends, the binding one first: the slower link's rate at this MTU and,
// for each end, the narrowest PCIe hop between adapter and memory. Virtual devices make it nominal.
Ceiling path_ceiling(const CeilingEnd& a, const CeilingEnd& b, Wire wire, int mtu,
                     std::uint64_t message_bytes = 0);
// Puts the PCIe path of one more device among the limits, where it belongs by its rate.
void add_pcie_limit(Ceiling& path, const std::vector<PciDevice>& devices, std::string_view address,
                    std::string_view node);
// What path_ceiling() found for the wire, whether it binds or not; null where no link states its speed.
const Limit* find_wire(const Ceiling& ceiling);

}  // namespace railbed
