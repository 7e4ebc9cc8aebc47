// What each interface of a node shall have, whoever writes it down for the next boot.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/target.h"

namespace railbed {

enum class LinkKind { kEthernet, kVlan, kInfiniband };

struct WantedInterface {
  std::string name;
  LinkKind kind = LinkKind::kEthernet;
  std::string parent = {};  // of a VLAN
  int vlan = 0;
  bool connected = false;  // IPoIB's mode; else datagram
  std::optional<int> mtu = {};
  std::vector<InterfaceAddress> addresses = {};  // none: it only carries a VLAN
  // A rail, or what carries one: no boot waits for it, and nothing but its own subnet is reached by it.
  bool rail = true;
  bool dhcp = false;  // this and the next two: management only
  std::optional<IpAddress> gateway = {};
  std::vector<IpAddress> dns = {};

  bool operator==(const WantedInterface&) const = default;
  std::string to_text() const;  // "ens6 10.0.1.1/24, MTU 9000"
};

struct WantedNetwork {
  std::vector<WantedInterface> rails;         // what carries a VLAN stands before it
  std::optional<WantedInterface> management;  // only where cluster.yaml describes it
  std::vector<std::string> unused;
  bool is_rail(std::string_view interface) const;
};

WantedNetwork wanted_network(const Target& target);

// Why railbed writes nothing for this interface: a mistake would lock everybody out, or it is of a kind that
// railbed does not make. Empty: it writes.
std::string why_left_alone(const Target& target, const WantedNetwork& network, const WantedInterface& wanted);

// Likewise, why it is not taken down.
std::string why_not_taken_down(const Target& target, const std::string& interface);

}  // namespace railbed
