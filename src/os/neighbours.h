// The kernel's decision for a packet to another node: its route, and the MAC address it would carry.
// Uses netlink instead of /proc/net/arp and `ip`: it needs no program, reports the state of an entry (failed,
// permanent), and covers IPv6.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"

namespace railbed {

struct RouteAnswer {
  std::string error;      // why there is no route: "Network is unreachable"
  std::string interface;  // outgoing interface
  std::string gateway;    // empty if the other node is on the link
  FIELDS(RouteAnswer, error, interface, gateway);
};
// Returns the route of a socket that is bound to `from` (RTM_GETROUTE, `ip route get TO from FROM`).
RouteAnswer route_to(const IpAddress& to, const IpAddress& from);

struct NeighbourAnswer {
  std::string error;
  std::string state;  // reachable, stale, delay, probe, permanent, noarp, failed, incomplete; empty: no entry
  std::string mac;    // "0a:1b:…", as /sys/class/net/IF/address
  FIELDS(NeighbourAnswer, error, state, mac);
};
// Returns the entry that `ip neigh show OF dev INTERFACE` prints (RTM_GETNEIGH).
NeighbourAnswer neighbour_on(const std::string& interface, const IpAddress& of);

// Returns the IPv4 subnets that this node has a route to, of all routing tables: those of other programs (a
// VPN) among them, without default routes and own addresses. Each once, at most 4096.
std::vector<Subnet> routed_subnets();

// The state of an interface (RTM_GETLINK).
struct InterfaceState {
  bool there = false;
  bool up = false;       // administratively
  bool carrier = false;  // only known of an interface that is up
  bool ipv6_off = false;
  int largest_mtu = 0;  // bytes that the driver accepts; 0 if the kernel does not state it
};
InterfaceState interface_state(const std::string& interface);

}  // namespace railbed
