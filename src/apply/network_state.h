// The state of the running network when a transaction started, and the commands that restore it: addresses,
// MTUs, links that are up, VLANs that did not exist, default routes. Values in railbed's files are restored
// with those files; this restores what programs leave behind, and what no file contained.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace railbed {

class WritableHost;

// One address, as `ip -j address` reports it.
struct RunningAddress {
  std::string local = {};
  int prefixlen = 0;
  std::string scope = {};
  bool dynamic = false;  // from DHCP or router advertisements, whose client requests it again
  FIELDS(RunningAddress, local, prefixlen, scope, dynamic);
  bool operator==(const RunningAddress&) const = default;
};
struct LinkInfo {
  std::string info_kind = {};  // "vlan"; empty for a device
  FIELDS(LinkInfo, info_kind);
  bool operator==(const LinkInfo&) const = default;
};
// One link with its addresses.
struct RunningLink {
  std::string ifname = {};
  int mtu = 0;
  std::vector<std::string> flags = {};
  LinkInfo linkinfo = {};
  std::vector<RunningAddress> addr_info = {};
  FIELDS(RunningLink, ifname, mtu, flags, linkinfo, addr_info);
  bool operator==(const RunningLink&) const = default;
};
struct DefaultRoute {
  std::string gateway = {};
  std::string dev = {};
  int metric = 0;
  FIELDS(DefaultRoute, gateway, dev, metric);
  bool operator==(const DefaultRoute&) const = default;
};
// Links and default routes.
struct NetworkState {
  std::vector<RunningLink> links = {};    // `ip -d -j address show`
  std::vector<DefaultRoute> routes = {};  // `ip -j route show default`
  FIELDS(NetworkState, links, routes);
};

// Returns the present state; empty if iproute2 fails.
NetworkState network_state(const WritableHost& host);

// Returns the commands that lead from `now` to `before`; none if they are equal, or if `before` has no links
// because it could not be read.
std::vector<std::vector<std::string>> network_commands(const NetworkState& before, const NetworkState& now);

// Returns the state that undoes the step from `before` to `after`: links that it changed are as in `before`;
// all other links, and the routes, are as in `now`.
NetworkState taken_back(const NetworkState& before, const NetworkState& after, const NetworkState& now);

}  // namespace railbed
