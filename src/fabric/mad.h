// Management datagrams: how a question is built and what an answer says. Every offset is in one table, here
// and in mad.cc; the layouts are those of the InfiniBand Architecture Specification, volume 1
// (13.4, 14.2.5, 16.1.3).
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
  kClassPortInfo = 0x01,  // of performance management: what it can do
  kNodeDescription = 0x10,
  kNodeInfo = 0x11,
  kSwitchInfo = 0x12,
  kPortCounters = 0x12,  // of performance management, which numbers anew
  kPortInfo = 0x15,
  kPortCountersExtended = 0x1D,
  kSmInfo = 0x20,
  kVendorPortInfo = 0xFF90,  // Mellanox' own, which alone knows FDR10
};

inline constexpr std::size_t kMostHops = 63;

// A directed route: the ports that lead out, one after the other.
using MadPath = std::basic_string<std::uint8_t>;

Mad ask_directed(const MadPath& path, MadAttribute attribute, std::uint32_t modifier,
                 std::uint32_t transaction);
Mad ask_by_lid(MadAttribute attribute, std::uint32_t modifier, std::uint32_t transaction);
Mad ask_counters(MadAttribute attribute, int port);  // of a port; kClassPortInfo is of the whole node

// What an answer is to, whatever it says of itself; nothing for what is no answer.
struct MadAnswer {
  std::uint32_t transaction = 0;
  std::uint8_t management_class = 0;
  MadAttribute attribute = MadAttribute::kNodeInfo;
  unsigned status = 0;  // 0: good
};
std::optional<MadAnswer> answer_of(const Mad& mad);

struct MadNodeInfo {
  IbNode node;  // without description; ports are numbered and empty
  int local_port = 0;
};
// Nothing when it cannot be: no GUID, no type, no port, or a port of itself that it does not have.
std::optional<MadNodeInfo> node_info(const Mad& mad);
std::string node_description(const Mad& mad);
// Fills all but number, GUID and peer.
void port_info(const Mad& mad, IbPort& port);
// FDR10 is in no field of PortInfo: a port that runs at it says QDR there. Whether this one is to be asked.
bool may_run_fdr10(const IbNode& node, const IbPort& port);
void vendor_port_info(const Mad& mad, IbPort& port);
IbManager sm_info(const Mad& mad);
bool has_enhanced_port0(const Mad& mad);  // of SwitchInfo
// Nothing when it is of another port.
std::optional<IbCounts> port_counters(const Mad& mad, int port);
// Which counters of PortCountersExtended a node has.
struct ExtendedCounters {
  bool data = false;
  bool errors = false;
};
ExtendedCounters extended_counters(const Mad& mad);
// Those that go on where the short ones stop.
void add_extended_counters(const Mad& mad, int port, const ExtendedCounters& has, IbCounts& counts);

}  // namespace railbed
