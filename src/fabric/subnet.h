// An InfiniBand subnet: switches, HCAs, and which port is cabled to which. A live subnet, a dump of
// ibnetdiscover and a plan use the same structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

enum class IbNodeType { kHca, kSwitch, kRouter };
// The states of PortInfo (InfiniBand specification, 14.2.5.6); kNotSaid in a dump, which has none.
enum class IbState { kNotSaid, kDown, kInit, kArmed, kActive };
// In the order of a lane's bandwidth.
enum class IbSpeed { kNone, kSdr, kDdr, kQdr, kFdr10, kFdr, kEdr, kHdr, kNdr, kXdr };

inline constexpr int kMostIbPorts = 254;            // 255 stands for all ports
inline constexpr std::size_t kMostIbNodes = 49151;  // unicast LIDs: 1 to 0xBFFF
inline constexpr std::size_t kMostIbPortsInAll = 1 << 20;
inline constexpr int kMostIbPlanes = 8;  // of a port of XDR; four are sold

// One end of a cable: an index into IbFabric::nodes and a port's number. False if it is unset.
struct IbEnd {
  int node = -1;
  int port = 0;
  bool operator==(const IbEnd&) const = default;
  auto operator<=>(const IbEnd&) const = default;
  explicit operator bool() const { return node >= 0; }
};

// Width and speed of a link.
struct IbLink {
  int width = 0;  // lanes; 0: none
  IbSpeed speed = IbSpeed::kNone;
  bool operator==(const IbLink&) const = default;
  std::string to_text() const;  // "4xHDR", as ibnetdiscover writes it
  static std::optional<IbLink> parse(std::string_view text);
  double gigabits() const;  // Gb/s of all lanes, by their names: 4xHDR is 200
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
  IbLink supported;  // the best; width 0 if unknown
  IbLink enabled;    // the best that its settings allow; width 0 if unknown
  IbEnd peer;
  unsigned dark_planes =
      0;  // bit n − 1: plane n has no link, while others of the port have (fabric/planes.h)
};

// One of the ASICs that are a switch together (fabric/planes.h).
struct IbPlane {
  int number = 0;
  std::uint64_t guid = 0;
  unsigned lid = 0;
};

struct IbNode {
  IbNodeType type = IbNodeType::kHca;
  std::uint64_t guid = 0;
  std::uint64_t system_guid = 0;
  std::uint64_t port_guid = 0;  // of a switch's port 0
  unsigned vendor = 0;
  unsigned device = 0;
  unsigned revision = 0;    // 0: unknown
  std::string description;  // one printable line
  std::string label;        // the name to show if several nodes have the same description
  bool enhanced_port0 = false;
  std::vector<IbPort> ports;         // by number; 0 is a switch's own
  std::vector<IbPlane> planes = {};  // by number, if it was several nodes; the first has `guid`
  bool is_switch() const { return type == IbNodeType::kSwitch; }
  // True for a switch's own engine for reductions (SHARP), which looks like an HCA behind its last port.
  bool is_aggregation() const { return description.find("Aggregation Node") != std::string::npos; }
  bool is_hca() const { return type == IbNodeType::kHca && !is_aggregation(); }
  int last_port() const { return static_cast<int>(ports.size()) - 1; }
};

// Two nodes that claim the same GUID.
struct IbConflict {
  std::uint64_t guid = 0;
  std::string text;  // the contradiction
};

// A port with a link behind which no node responds as it should.
struct IbSilence {
  IbEnd end;
  std::string text;
};

enum class IbManagerState { kNotActive, kDiscovering, kStandby, kMaster };

// A subnet manager.
struct IbManager {
  IbEnd end;
  std::uint64_t port_guid = 0;
  unsigned lid = 0;
  int priority = 0;
  IbManagerState state = IbManagerState::kNotActive;
  std::uint32_t activity = 0;  // grows as the manager works
};

struct IbFabric {
  std::vector<IbNode> nodes;
  std::vector<IbConflict> conflicts;
  std::vector<IbSilence> silent;
  std::vector<IbManager> managers;
  std::vector<IbEnd> mute_managers;  // ports with IsSM whose manager does not answer
  std::uint64_t from_node = 0;       // GUIDs of the node and port where discovery began
  std::uint64_t from_port = 0;
  bool live = false;    // states, capabilities and managers were read
  bool states = false;  // states of ports were read, of a file

  // The node or port of an end, which must be set and in range; this is not checked.
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
// Returns whether links of so many lanes exist.
constexpr bool is_ib_width(int lanes) {
  return lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 12;
}
// Returns the lanes of "4X" or "4x"; 0 for another text.
int ib_width(std::string_view text);
// Returns the state by libibmad's name: "Initialize"; kNotSaid for another text.
IbState ib_state(std::string_view name);
// Returns the speed of a lane by its signaling in Gb/s, as libibmad prints it: "25.78125"; kNone if it has no name here.
IbSpeed signaled_speed(std::string_view gigabits);
std::string guid_text(std::uint64_t guid);  // "0x0002c902004885a8"

// Sets the label of nodes with equal descriptions, with the GUID added: unmanaged switches all have the same
// description.
void tell_apart(IbFabric& fabric);

// Returns the name to show: the label, else the description, else the GUID.
std::string name_of(const IbNode& node);
std::string host_of(const IbNode& node);    // "node001" of "node001 mlx5_0"
std::string device_of(const IbNode& node);  // "mlx5_0"; empty if the description has no second word
// Returns a port's place: "port 7 of leaf03".
std::string place_of(const IbFabric& fabric, const IbEnd& end);

// Calls `visit(IbEnd one, IbEnd other)` once for each cable. `one` is the end that comes first in the list,
// unless only the later end has the cable.
template <class Visit>
void each_cable(const IbFabric& fabric, Visit&& visit) {
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    for (const IbPort& port : fabric.nodes[n].ports) {
      const IbEnd here{static_cast<int>(n), port.number};
      // A cable that only this end has counts as well.
      if (port.peer && (here < port.peer || fabric.port(port.peer).peer != here)) visit(here, port.peer);
    }
}

// Enters a cable at both ends.
void join(IbFabric& fabric, const IbEnd& end, const IbEnd& other);

}  // namespace railbed
