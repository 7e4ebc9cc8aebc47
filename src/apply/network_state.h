// The running network as a transaction found it, and what brings it back: addresses, MTUs, links that are up,
// VLANs that were not there, default routes. What railbed's files set comes back with them; this is for what
// their programs leave behind, and for what nobody had written into a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace railbed {

class WritableHost;

struct RunningAddress {
  std::string local = {};
  int prefixlen = 0;
  std::string scope = {};
  bool dynamic = false;  // by DHCP or router advertisements: whoever asked for it asks again
  FIELDS(RunningAddress, local, prefixlen, scope, dynamic);
  bool operator==(const RunningAddress&) const = default;
};
struct LinkInfo {
  std::string info_kind = {};  // "vlan"; empty: a device
  FIELDS(LinkInfo, info_kind);
  bool operator==(const LinkInfo&) const = default;
};
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
struct NetworkState {
  std::vector<RunningLink> links = {};    // `ip -d -j address show`
  std::vector<DefaultRoute> routes = {};  // `ip -j route show default`
  FIELDS(NetworkState, links, routes);
};

// Empty where iproute2 does not answer.
NetworkState network_state(const WritableHost& host);

// The words of the programs that lead from `now` to `before`; none where they are alike.
std::vector<std::vector<std::string>> network_commands(const NetworkState& before, const NetworkState& now);

// `now` without what has led from `before` to `after`: links that were alike then stay as they are now.
NetworkState taken_back(const NetworkState& before, const NetworkState& after, const NetworkState& now);

}  // namespace railbed
