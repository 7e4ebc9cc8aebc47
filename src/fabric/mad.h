// Management datagrams: builders of requests and parsers of responses. Every offset is in one table, here and
// in mad.cc; the layouts are those of the InfiniBand Architecture Specification, volume 1 (13.4, 14.2.5,
// 16.1.3).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "fabric/counters.h"
#include "fabric/subnet.h"
#include "host/umad.h"

namespace railbed {

enum class MadAttribute : std::uint16_t {
  kClassPortInfo = 0x01,  // of performance management: its capabilities
  kNodeDescription = 0x10,
  kNodeInfo = 0x11,
  kSwitchInfo = 0x12,
  kPortCounters = 0x12,  // of performance management, which has numbers of its own
  kPortInfo = 0x15,
  kPortCountersExtended = 0x1D,
  kSmInfo = 0x20,
  kVendorPortInfo = 0xFF90,  // Mellanox' own, and the only one with FDR10
};

inline constexpr std::size_t kMostHops = 63;

// A directed route: the output port at each hop, at most kMostHops.
using MadPath = std::basic_string<std::uint8_t>;

// Return requests: along a directed route, to a LID, and for a port's counters. Questions sets the
// transaction when it sends one.
Mad ask_directed(const MadPath& path, MadAttribute attribute, std::uint32_t modifier,
                 std::uint32_t transaction);
Mad ask_by_lid(MadAttribute attribute, std::uint32_t modifier, std::uint32_t transaction);
Mad ask_counters(MadAttribute attribute, int port);  // port 0 for kClassPortInfo, which is of the whole node

// The header of a response, which identifies its request. answer_of() returns none for a MAD that is no
// response.
struct MadAnswer {
  std::uint32_t transaction = 0;
  std::uint8_t management_class = 0;
  MadAttribute attribute = MadAttribute::kNodeInfo;
  unsigned status = 0;  // 0: success
};
std::optional<MadAnswer> answer_of(const Mad& mad);

struct MadNodeInfo {
  IbNode node;         // without description; ports are numbered and empty
  int local_port = 0;  // the node's port at which the request arrived
};
// Parses NodeInfo; none if it is impossible: no GUID, no type, no port, or a local port that the node does
// not have.
std::optional<MadNodeInfo> node_info(const Mad& mad);
std::string node_description(const Mad& mad);
// Fills all fields except number, GUID and peer.
void port_info(const Mad& mad, IbPort& port);
// True if kVendorPortInfo must be read to know the port's speed. No field of PortInfo has FDR10: a port at
// FDR10 reports QDR there.
bool may_run_fdr10(const IbNode& node, const IbPort& port);
// Sets the port's speeds to FDR10 where the port reports it.
void vendor_port_info(const Mad& mad, IbPort& port);
IbManager sm_info(const Mad& mad);
bool has_enhanced_port0(const Mad& mad);  // of SwitchInfo
// Parses PortCounters; none if they are another port's.
std::optional<IbCounts> port_counters(const Mad& mad, int port);
// The counters of PortCountersExtended that a node supports.
struct ExtendedCounters {
  bool data = false;
  bool errors = false;
};
ExtendedCounters extended_counters(const Mad& mad);
// Raises counters to their 64-bit values, which go on where the short ones stop. A response for another port
// changes nothing.
void add_extended_counters(const Mad& mad, int port, const ExtendedCounters& has, IbCounts& counts);

}  // namespace railbed
