// The upper limit of a path's rate, calculated from the properties of its parts. Nothing is measured.
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

// The protocols around the payload of one packet.
enum class Wire { kTcpIpv4, kTcpIpv6, kRoceV2Ipv4, kRoceV2Ipv6, kRoceV1, kInfiniband };
constexpr bool is_tcp(Wire wire) { return wire == Wire::kTcpIpv4 || wire == Wire::kTcpIpv6; }

struct Header {
  std::string_view name;
  int bytes = 0;
};
// Returns everything on the wire that is not payload, in order, gaps included.
std::span<const Header> headers_of(Wire wire);
// Returns the sum of these in bytes per packet.
int overhead_of(Wire wire);
// Returns the fraction of the line rate that is payload, from 0 to 1. `mtu` is the interface's MTU for TCP
// and the path MTU for RDMA, in their own definitions. A `message_bytes` of 0 means messages whose length
// does not matter. TCP merges writes, so `message_bytes` matters for RDMA only.
double wire_efficiency(Wire wire, int mtu, std::uint64_t message_bytes = 0);
// Returns the least number of bytes that pass the wire before a message has arrived: all its packets except
// the last gap, without parts that only some packets have (timestamps of TCP, the header of a write).
std::uint64_t least_wire_bytes(Wire wire, int mtu, std::uint64_t message_bytes);

// Returns a port's rate without the link's coding. The port has to state a rate.
BitRate data_rate(const RdmaPort& port);

// Returns the data rate of a PCIe link after encoding and packet headers, at a maximum payload of 256 bytes.
BitRate pcie_rate(const PcieLink& link);
// The shortest packet with data, which has four bytes of it, and how long it occupies a link.
struct ShortestPacket {
  int bytes = 0;
  Nanoseconds time{};
};
ShortestPacket shortest_packet(const PcieLink& link);
// Returns a text such as "PCIe Gen3 x8".
std::string describe_link(const PcieLink& link);

// Returns the hop with the slowest link between the device at `address` and memory; null if no hop states a
// link, as for virtual devices. The pointer points into `devices`.
const PciDevice* narrowest_hop(const std::vector<PciDevice>& devices, std::string_view address);
// Returns the data rate of that hop as a limit, on a DGX Spark's adapter kSparkFunctionRate at most.
std::optional<Limit> pcie_limit(const std::vector<PciDevice>& devices, std::string_view address,
                                std::string_view node);

// Returns true if the interface only claims a speed, because it has no link of its own.
bool is_virtual(const NetInterface& interface);

// One end of a path. It does not own what it refers to. `facts` is null if the node's facts are not known.
struct CeilingEnd {
  std::string_view node;
  std::string_view interface;
  const Facts* facts = nullptr;
};

// The data rate that an end states (TCP: of the interface, RDMA: of the port), and the source of that.
struct LinkRate {
  BitRate rate;
  std::string from;
};
// Returns that rate; nullopt if the end states none. `end.facts` must be set, also for virtual_note() and
// adapter_address().
std::optional<LinkRate> link_rate(const CeilingEnd& end, Wire wire);
// Returns a text such as "ens6 of gpu01".
std::string where(const CeilingEnd& end);
// Returns why this end's stated speed is not a physical limit; empty for an adapter on PCIe.
std::string virtual_note(const CeilingEnd& end);

// Returns the PCI address of the end's adapter; nullopt for virtual ones.
std::optional<std::string> adapter_address(const CeilingEnd& end);

// Returns all limits of the path between two ends, lowest first: the slower link's rate at this MTU and, for
// each end, the slowest PCIe hop between adapter and memory. With virtual devices, or both ends on one node,
// it is nominal.
Ceiling path_ceiling(const CeilingEnd& a, const CeilingEnd& b, Wire wire, int mtu,
                     std::uint64_t message_bytes = 0);
// Adds the PCIe path of one more device to the limits, which stay in order.
void add_pcie_limit(Ceiling& path, const std::vector<PciDevice>& devices, std::string_view address,
                    std::string_view node);
// Returns the limit that path_ceiling() found for the wire, even if another one is lower; null if no link
// states its speed. The pointer points into `ceiling`.
const Limit* find_wire(const Ceiling& ceiling);

}  // namespace railbed
