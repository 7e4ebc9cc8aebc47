// An InfiniBand subnet as it was found: switches, HCAs, and which port is cabled to which. Live, from a dump
// of ibnetdiscover, or as a plan: the same structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

enum class IbNodeType { kHca, kSwitch, kRouter };
// As PortInfo counts them (InfiniBand specification, 14.2.5.6); a dump says nothing of them.
enum class IbState { kNotSaid, kDown, kInit, kArmed, kActive };
// In the order of what a lane carries.
enum class IbSpeed { kNone, kSdr, kDdr, kQdr, kFdr10, kFdr, kEdr, kHdr, kNdr, kXdr };

inline constexpr int kMostIbPorts = 254;            // 255 stands for all ports
inline constexpr std::size_t kMostIbNodes = 49151;  // unicast LIDs: 1 to 0xBFFF
inline constexpr std::size_t kMostIbPortsInAll = 1 << 20;

// The other end of a cable: a place in IbFabric::nodes and a port's number.
struct IbEnd {
  int node = -1;
  int port = 0;
  bool operator==(const IbEnd&) const = default;
  auto operator<=>(const IbEnd&) const = default;
  explicit operator bool() const { return node >= 0; }
};

struct IbLink {
  int width = 0;  // lanes; 0: none
  IbSpeed speed = IbSpeed::kNone;
  bool operator==(const IbLink&) const = default;
  std::string to_text() const;  // "4xHDR", as ibnetdiscover writes it
  static std::optional<IbLink> parse(std::string_view text);
  double gigabits() const;  // of all lanes, as the names count: 4xHDR is 200
};

struct IbPort {
  int number = 0;
  std::uint64_t guid = 0;  // of an HCA's port
  unsigned lid = 0;        // of an HCA's port, and of a switch's port 0
  unsigned lmc = 0;
  unsigned sm_lid = 0;
  bool runs_manager = false;  // PortInfo's IsSM
  IbState state = IbState::kNotSaid;
  bool link_up = false;  // physically
  IbLink active;
  IbLink supported;  // the best; none: not said
  IbEnd peer;
};

struct IbNode {
  IbNodeType type = IbNodeType::kHca;
  std::uint64_t guid = 0;
  std::uint64_t system_guid = 0;
  std::uint64_t port_guid = 0;  // of a switch's port 0
  unsigned vendor = 0;
  unsigned device = 0;
  unsigned revision = 0;    // 0: not said
  std::string description;  // one printable line
  std::string label;        // what to call it, where several call themselves the same
  bool enhanced_port0 = false;
  std::vector<IbPort> ports;  // by number; 0 is a switch's own
  bool is_switch() const { return type == IbNodeType::kSwitch; }
  // A switch's own engine for reductions (SHARP), which looks like an HCA behind its last port.
  bool is_aggregation() const { return description.find("Aggregation Node") != std::string::npos; }
  bool is_hca() const { return !is_switch() && !is_aggregation(); }
  int last_port() const { return static_cast<int>(ports.size()) - 1; }
};

// Two that say the same of themselves.
struct IbConflict {
  std::uint64_t guid = 0;
  std::string text;  // what contradicts
};

// What has a link and does not answer.
struct IbSilence {
  IbEnd end;
  std::string text;
};

enum class IbManagerState { kNotActive, kDiscovering, kStandby, kMaster };

struct IbManager {
  IbEnd end;
  std::uint64_t port_guid = 0;
  unsigned lid = 0;
  int priority = 0;
  IbManagerState state = IbManagerState::kNotActive;
  std::uint32_t activity = 0;  // counts the manager's work
};

struct IbFabric {
  std::vector<IbNode> nodes;
  std::vector<IbConflict> conflicts;
  std::vector<IbSilence> silent;
  std::vector<IbManager> managers;
  std::uint64_t from_node = 0;  // where the look began
  std::uint64_t from_port = 0;
  bool live = false;  // states, capabilities and managers were asked for

  const IbNode& at(const IbEnd& end) const { return nodes[static_cast<std::size_t>(end.node)]; }
  const IbPort& port(const IbEnd& end) const { return at(end).ports[static_cast<std::size_t>(end.port)]; }
  IbPort& port(const IbEnd& end) {
    return nodes[static_cast<std::size_t>(end.node)].ports[static_cast<std::size_t>(end.port)];
  }
};

std::string_view word(IbSpeed speed);         // "HDR"
std::string_view word(IbState state);         // "INIT"
std::string_view word(IbManagerState state);  // "MASTER"
std::optional<IbSpeed> ib_speed(std::string_view word);
std::string guid_text(std::uint64_t guid);  // "0x0002c902004885a8"

// Unmanaged switches all call themselves the same: their GUID is added.
void tell_apart(IbFabric& fabric);

// What people call it: its description; its GUID where it has none.
std::string name_of(const IbNode& node);
std::string host_of(const IbNode& node);    // "node001" of "node001 mlx5_0"
std::string device_of(const IbNode& node);  // "mlx5_0"; empty where the description has no second word
// "port 7 of leaf03".
std::string place_of(const IbFabric& fabric, const IbEnd& end);

// Each cable once: the end that comes first in the list is given. `visit(IbEnd one, IbEnd other)`.
template <class Visit>
void each_cable(const IbFabric& fabric, Visit&& visit) {
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    for (const IbPort& port : fabric.nodes[n].ports) {
      const IbEnd here{static_cast<int>(n), port.number};
      // One that only this end knows of counts as well.
      if (port.peer && (here < port.peer || fabric.port(port.peer).peer != here)) visit(here, port.peer);
    }
}

// Makes a cable known at both ends.
void join(IbFabric& fabric, const IbEnd& one, const IbEnd& other);

}  // namespace railbed
