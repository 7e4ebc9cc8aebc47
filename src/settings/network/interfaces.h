// The desired state of each interface of a node, independent of the format that stores it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/target.h"

namespace railbed {

enum class LinkKind { kEthernet, kVlan, kInfiniband };

// One interface in its desired state.
struct WantedInterface {
  std::string name;
  LinkKind kind = LinkKind::kEthernet;
  std::string parent = {};  // of a VLAN
  int vlan = 0;
  bool connected = false;  // IPoIB's mode; false: datagram
  std::optional<int> mtu = {};
  std::vector<InterfaceAddress> addresses = {};  // empty if it only carries a VLAN
  // A rail, or the carrier of one: no boot waits for it, and only its own subnet is reached through it.
  bool rail = true;
  bool dhcp = false;  // this and the next two: management only
  std::optional<IpAddress> gateway = {};
  std::vector<IpAddress> dns = {};

  bool operator==(const WantedInterface&) const = default;
  std::string to_text() const;  // "ens6 10.0.1.1/24, MTU 9000"
};

// All interfaces of a node.
struct WantedNetwork {
  std::vector<WantedInterface> rails;         // a VLAN follows its carrier
  std::optional<WantedInterface> management;  // only if cluster.yaml describes it
  // Interfaces to keep down.
  std::vector<std::string> unused;
  bool is_rail(std::string_view interface) const;
};

WantedNetwork wanted_network(const Target& target);

// Returns why railbed writes nothing for this interface: a mistake would lock everyone out, or railbed does
// not support its kind. Empty if it writes.
std::string why_left_alone(const Target& target, const WantedNetwork& network, const WantedInterface& wanted);

// Returns why the interface is not taken down; empty if it is.
std::string why_not_taken_down(const Target& target, const std::string& interface);

}  // namespace railbed
