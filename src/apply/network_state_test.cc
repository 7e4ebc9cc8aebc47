#include "apply/network_state.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

using Commands = std::vector<std::vector<std::string>>;

RunningLink link(std::string name, int mtu, bool up, std::vector<RunningAddress> addresses = {}) {
  return {std::move(name),
          mtu,
          up ? std::vector<std::string>{"UP"} : std::vector<std::string>{},
          {},
          std::move(addresses)};
}
RunningAddress address(std::string local, bool dynamic = false) {
  return {std::move(local), 24, "global", dynamic};
}

TEST(NetworkState, NothingIsDoneWhereNothingDiffers) {
  const NetworkState same{{link("eth1", 9000, true, {address("10.0.0.1")})}, {{"10.0.0.254", "eth1", 0}}};
  EXPECT_TRUE(network_commands(same, same).empty());
}

TEST(NetworkState, AddressesMtusLinksVlansAndRoutesComeBack) {
  const NetworkState before{{link("eth0", 1500, true, {address("192.168.0.2")}), link("eth1", 1500, false)},
                            {{"192.168.0.1", "eth0", 100}}};
  RunningLink vlan = link("eth1.7", 9000, true);
  vlan.linkinfo.info_kind = "vlan";
  const NetworkState now{{link("eth0", 1500, true), link("eth1", 9000, true, {address("10.0.0.1")}), vlan},
                         {}};
  EXPECT_EQ(network_commands(before, now),
            (Commands{{"ip", "address", "replace", "192.168.0.2/24", "dev", "eth0"},
                      {"ip", "address", "delete", "10.0.0.1/24", "dev", "eth1"},
                      {"ip", "link", "set", "dev", "eth1", "mtu", "1500"},
                      {"ip", "link", "set", "dev", "eth1", "down"},
                      {"ip", "link", "delete", "dev", "eth1.7"},
                      {"ip", "route", "replace", "default", "via", "192.168.0.1", "dev", "eth0", "metric",
                       "100"}}));
}

TEST(NetworkState, WhatAServerHandsOutIsItsOwn) {
  const NetworkState before{{link("eth0", 1500, true)}, {}};
  const NetworkState now{{link("eth0", 1500, true, {address("192.168.0.2", true)})}, {}};
  EXPECT_TRUE(network_commands(before, now).empty());
}

TEST(NetworkState, WithoutALookNothingIsTouched) {
  EXPECT_TRUE(network_commands({}, {{link("eth0", 1500, true, {address("10.0.0.1")})}, {}}).empty());
}

TEST(NetworkState, ARollbackTakesBackItsOwnAndLeavesTheRest) {
  const NetworkState before{{link("eth1", 1500, false), link("eth2", 1500, true)}, {}};
  const NetworkState after{{link("eth1", 9000, true, {address("10.0.0.1")}), link("eth2", 1500, true)}, {}};
  // eth2 has been given an address since.
  NetworkState now = after;
  now.links[1].addr_info = {address("10.9.0.1")};
  EXPECT_EQ(network_commands(taken_back(before, after, now), now),
            (Commands{{"ip", "address", "delete", "10.0.0.1/24", "dev", "eth1"},
                      {"ip", "link", "set", "dev", "eth1", "mtu", "1500"},
                      {"ip", "link", "set", "dev", "eth1", "down"}}));
}

}  // namespace
}  // namespace railbed
