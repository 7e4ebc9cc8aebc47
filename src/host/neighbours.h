// What the kernel would do with a packet for another node: its route, and whose MAC address it would carry.
// Asked over netlink, not of /proc/net/arp and `ip`: it needs no program, says the state of an entry (failed,
// permanent), and knows IPv6.
#pragma once

#include <string>

#include "base/fields.h"
#include "base/ip.h"

namespace railbed {

struct RouteAnswer {
  std::string error;      // why there is none: "Network is unreachable"
  std::string interface;  // that it leaves by
  std::string gateway;    // empty: straight to the other
  FIELDS(RouteAnswer, error, interface, gateway);
};
// As a socket that is bound to `from` is routed (RTM_GETROUTE, `ip route get TO from FROM`).
RouteAnswer route_to(const IpAddress& to, const IpAddress& from);

struct NeighbourAnswer {
  std::string error;
  std::string state;  // reachable, stale, delay, probe, permanent, noarp, failed, incomplete; empty: no entry
  std::string mac;    // "0a:1b:…", as /sys/class/net/IF/address
  FIELDS(NeighbourAnswer, error, state, mac);
};
// As `ip neigh show OF dev INTERFACE` (RTM_GETNEIGH).
NeighbourAnswer neighbour_on(const std::string& interface, const IpAddress& of);

}  // namespace railbed
