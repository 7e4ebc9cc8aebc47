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

// What a port's rate leaves for data after the link's coding. Only where the port states a rate.
BitRate data_rate(const RdmaPort& port);

// The rate left for data on a PCIe link after encoding and packet headers at a maximum payload of 256 bytes.
BitRate pcie_rate(const PcieLink& link);
// "PCIe Gen3 x8"
std::string describe_link(const PcieLink& link);

// The narrowest hop between the device at `address` and memory: what its data can pass at most. Nothing where
// no hop states a link, as of virtual devices.
std::optional<Limit> pcie_limit(const std::vector<PciDevice>& devices, std::string_view address,
                                std::string_view node);

// Whether the speed that the interface states is a claim alone, with no link of its own behind it.
bool is_virtual(const NetInterface& interface);

struct CeilingEnd {
  std::string_view node;
  std::string_view interface;
  const Facts* facts = nullptr;
};

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
