// Actions on the interface of a rail's end that are safe: none cuts off the node, or a bond or VLAN that
// works.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/remedy.h"
#include "model/survey.h"

namespace railbed {

// Returns the interface of the port itself: the one below a VLAN, else the end's own.
std::string port_interface(const RailEnd& end);

// Return commands that show the cable and the module in the port, and the error counters on the path.
std::vector<ShellCommand> show_cable_with(const RailEnd& end);
std::vector<ShellCommand> show_errors_with(const RailEnd& end);

// Returns commands that set the MTU: on the end's bond if it has one, and first on the port below a VLAN.
std::vector<ShellCommand> set_mtu_with(const RailEnd& end, int mtu);

// The MTU of IPoIB: of a partition until the subnet manager is configured for more, the largest of datagram mode
// (the InfiniBand MTU less the header of 4 bytes, RFC 4391), and the largest of connected mode (RFC 4755).
inline constexpr int kGroupMtu = 2044;
inline constexpr int kLargestDatagram = 4092;
inline constexpr int kLargestConnected = 65520;

// Returns whether the end's adapter has IPoIB's connected mode: by its model, else by the adapters that
// cluster.yaml lists for its node. nullopt if neither is known, or if several are listed that differ.
std::optional<bool> has_connected_ipoib(const RailEnd& end, const Cluster& cluster);

// Returns how an IPoIB interface gets this MTU, now and at boot, in connected or in datagram mode.
Remedy set_ipoib_mtu(const NodeView& node, const RailEnd& end, int mtu, bool connected);

// Returns true if the interface may lose its link or an address for a moment: it is not a bond, VLAN, or
// member of a bond or bridge, and carries neither a VLAN with an address nor the node's default route.
bool stands_alone(const RailEnd& end);

// Returns true if the interface may lose an address for a moment: it is not a member of a bond or bridge, and
// not known to carry the node's default route.
bool may_lose_address(const Facts& facts, const NetInterface* interface);

// Returns the remedy that gives the end its address in cluster.yaml, which must exist.
Remedy give_address(const RailEnd& end);
// Returns the address with the interface's prefix, "10.0.0.1/24"; empty if the interface does not have it.
std::string held_as(const NetInterface& interface, const IpAddress& address);
// Returns the command that removes the address; empty if the interface does not have it.
std::vector<ShellCommand> take_address_with(const NetInterface& interface, const IpAddress& address);

// Returns an interface with an address on the same port, such as a VLAN; empty if there is none.
std::string carried_by(const Facts& facts, const NetInterface& interface);

}  // namespace railbed
