// The one source of limits: how much data the parts of a path between two nodes let through.
//
// A limit is an upper bound that holds for exactly one kind of traffic: operation, message size, number of
// queue pairs, one way or both. What is known of a part goes into its limit; what is not known is taken at
// its best, so that the limit still holds, and Limit::least says what the part gives at its worst. A part of
// which nothing is known gives no limit and a note. Nothing here is measured on the user's machine.
//
// A bound is not a promise: what sound hardware is known to reach is sound_share(), and only that judges.
#pragma once

#include <array>
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

// The protocols around the payload of one packet.
enum class Wire { kTcpIpv4, kTcpIpv6, kRoceV2Ipv4, kRoceV2Ipv6, kRoceV1, kInfiniband };
constexpr bool is_tcp(Wire wire) { return wire == Wire::kTcpIpv4 || wire == Wire::kTcpIpv6; }

// What moves the bytes. A read is requested by the end that gets them; every other operation starts at the end
// that has them.
enum class Operation { kWrite, kRead, kSend, kDatagram, kTcp };
constexpr auto enum_names(Operation) {
  return std::array<std::string_view, 5>{"write", "read", "send", "datagram", "tcp"};
}

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
// does not matter. TCP merges writes, so `message_bytes` matters for RDMA only, where each message has the
// headers of its operation once.
double wire_efficiency(Wire wire, int mtu, std::uint64_t message_bytes = 0,
                       Operation operation = Operation::kWrite);
// Returns the least number of bytes that pass the wire before a message has arrived: all its packets except
// the last gap, without parts that only some packets have (timestamps of TCP, the header of a write).
std::uint64_t least_wire_bytes(Wire wire, int mtu, std::uint64_t message_bytes);

// ---- What passes

struct Traffic {
  Operation operation = Operation::kWrite;
  std::uint64_t message_bytes = 0;  // 0: not known, or of any length
  int queue_pairs = 0;              // TCP: connections; 0: not known, or as many as are useful
  bool both_ways = false;           // at once; rates are the sum of both
  // Reads that one queue pair has on their way at once (max_rd_atomic); 0: not known.
  int reads = 0;
  bool gpu = false;  // an end's bytes are in a GPU's memory
};
// Returns the traffic of a measurement: "read duplex", with its size and streams. Nullopt if it is no transfer
// between nodes over RDMA or TCP.
std::optional<Traffic> traffic_of(const Measurement& measurement);

// ---- Where it passes

// One link of PCI Express on the way between a device and memory, as it is while data flows. A GPU lowers its
// link while it is idle: who makes the hop puts the speed under load here.
struct PcieHop {
  PcieLink link;   // GT/s a lane and lanes in use, the narrower of both ends; width 0: not known
  std::string at;  // "0000:02:00.0 of gpu01", or "slot 3 of gpu01"; names the limit
  // Origin of the link: a file, a line of cluster.yaml.
  std::string source;
};

// A device with its way to memory: the link of its slot first, then each link above it, up to the root port.
struct PciePath {
  std::vector<PcieHop> hops;
  // Bytes of data in one packet at most (MaxPayload): the smallest of all devices on the path, because a packet
  // is never split and no device accepts a longer one.
  std::optional<int> max_payload;
  std::optional<int> max_read_request;  // bytes; of the device, which asks for what it reads
  // Bytes; what the device supports, which counts if max_payload is not known. 0: not known either, and then
  // the specification's longest counts.
  int payload_supported = 0;
  // What sound hardware is published to reach on this very path, where that is less than its bound.
  std::optional<BitRate> published = {};
};

// Where the bytes of an end are.
enum class MemoryKind {
  kHost,    // the node's own memory
  kDirect,  // a GPU's; the adapter reads and writes it (GPUDirect RDMA)
  kStaged   // a GPU's; the node's processor or the GPU copies it to and from host memory
};

struct PathEnd {
  std::string node;
  PciePath adapter;
  MemoryKind memory = MemoryKind::kHost;
  PciePath gpu;  // empty for host memory
};

// The line between both ends, at the rate of its slowest part.
struct WirePart {
  Wire protocol = Wire::kRoceV2Ipv4;
  int mtu = 0;  // bytes, as in wire_efficiency(); 0: not known, and then there is no limit
  // The rate without line coding: 32 Gb/s of QDR's 40 (infiniband_data_rate(), part_model.h). Not set: no end
  // states one.
  std::optional<BitRate> data_rate;
  std::string slower;  // "ens6 of gpu02", if the ends' rates differ
  std::string source;  // origin of the rate
};

// One path between two nodes, its parts in the order in which a byte passes them.
struct DataPath {
  PathEnd from;  // has the bytes
  WirePart wire;
  PathEnd to;
  // The time from a read's request until its data arrives, which a measurement or published parts prove to be
  // the least. Not set: not known, and then there is no limit by outstanding reads.
  std::optional<Nanoseconds> least_round_trip;
};

// ---- What it lets through

// Returns all limits, the binding one first; with notes on the parts that give none.
Ceiling limits(const DataPath& path, const Traffic& traffic);
// The limits of one part each. Nullopt if what they need is not known.
std::optional<Limit> wire_limit(const WirePart& wire, const Traffic& traffic);
// The direction in which data passes PCI Express: a device writes packets with their address into memory, and
// what it reads comes in completions, which are shorter.
enum class PcieWay { kToMemory, kFromMemory };
// Returns the limit of the narrowest hop.
std::optional<Limit> pcie_path_limit(const PciePath& path, PcieWay way, bool both_ways);
std::optional<Limit> read_limit(const DataPath& path, const Traffic& traffic);

// Returns the rate of a PCIe link after encoding and packet headers, if each packet carries `payload` bytes.
BitRate pcie_rate(const PcieLink& link, int payload, PcieWay way = PcieWay::kToMemory);
// The same at kUsualPayload, for a link of which nothing else is known: a usual figure, and no bound.
inline constexpr int kUsualPayload = 256;
BitRate pcie_rate(const PcieLink& link);
// The shortest packet with data, which has four bytes of it, and how long it occupies a link.
struct ShortestPacket {
  int bytes = 0;
  Nanoseconds time{};
};
ShortestPacket shortest_packet(const PcieLink& link);
// Returns a text such as "PCIe Gen3 x8".
std::string describe_link(const PcieLink& link);

// ---- A node

// One adapter card with all its functions. Its cables share its slots.
struct AdapterCard {
  std::vector<WirePart> cables;  // each once, also where two functions reach it (a GB10's two halves)
  std::vector<PciePath> slots;   // one for each slot: a GB10's card has two of four lanes; no hops: not known
};
// Returns the limit of all cards of a node together, for one way: of each card the sum of its cables, or of
// its slots if that is less. Nullopt if no cable has a rate.
std::optional<Limit> cards_limit(std::span<const AdapterCard> cards, const Traffic& traffic,
                                 std::string_view node);

// ---- What sound hardware reaches

// The rate that sound hardware is published to reach: only a path below this one may be judged as failing.
struct ProvenRate {
  std::optional<BitRate> rate;  // nullopt: nothing is proven for this traffic, so nothing may be judged
  std::string why;              // why it is not the whole rate of the wire: "one queue pair …"; else empty
  std::string source;           // publications; empty if the whole rate is proven
  std::string decides = {};     // options of railbed bench rdma with which a run can be judged
};
// `wire` is the limit of the wire, and what is proven is not above it. Other limits may be below it.
ProvenRate proven_rate(const Traffic& traffic, BitRate wire);

}  // namespace railbed
