// What may be done to the interface of a rail's end: never what cuts off the node, a bond or a VLAN that
// works.
#pragma once

#include <string>
#include <vector>

#include "model/remedy.h"
#include "model/survey.h"

namespace railbed {

// The interface of the port itself: what lies under a VLAN, else the end's own.
std::string port_interface(const RailEnd& end);

// What tells of the cable and the module in the port, and what counts errors on the way.
std::vector<ShellCommand> show_cable_with(const RailEnd& end);
std::vector<ShellCommand> show_errors_with(const RailEnd& end);

// On a bond where it has one, and on the port under a VLAN first.
std::vector<ShellCommand> set_mtu_with(const RailEnd& end, int mtu);

// It may lose its link or an address for a moment: it neither belongs to a bond or bridge nor carries a VLAN
// or the node's default route.
bool stands_alone(const RailEnd& end);

// It may lose an address for a moment: it carries neither the node's default route nor what a bond owns.
bool may_lose_address(const Facts& facts, const NetInterface* interface);

// The end gets the address that cluster.yaml gives it, which it has to have.
Remedy give_address(const RailEnd& end);
// "10.0.0.1/24", as the interface has it, and what takes it away; nothing where it does not have it.
std::string held_as(const NetInterface& interface, const IpAddress& address);
std::vector<ShellCommand> take_address_with(const NetInterface& interface, const IpAddress& address);

// An interface with an address on the same port, as a VLAN is; empty: none.
std::string carried_by(const Facts& facts, const NetInterface& interface);

}  // namespace railbed
