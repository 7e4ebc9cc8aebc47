#include "settings/network/interfaces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "hardware/spark.h"
#include "settings/contact.h"
#include "settings/network/ipoib.h"
#include "settings/unit_instance.h"

namespace railbed {
namespace {

void take_ipoib(const Target& target, const RailPort& port, WantedInterface& wanted) {
  wanted.kind = LinkKind::kInfiniband;
  const auto end = std::ranges::find(target.view.ends, &port, &RailEnd::port);
  const auto wish = end == target.view.ends.end() ? std::nullopt : ipoib_of(*end, target.cluster());
  if (!wish) return;
  wanted.connected = wish->mode == "connected";
  wanted.mtu = wish->mtu;
}

// Takes the VLAN from cluster.yaml, else from the node.
void take_vlan(const Target& target, const Rail& rail, WantedInterface& wanted) {
  const Vlan* there = find_vlan(target.facts().net, wanted.name);
  if (!rail.vlan && (there == nullptr || there->parent.empty())) return;
  wanted.kind = LinkKind::kVlan;
  wanted.vlan = rail.vlan ? *rail.vlan : there->id;
  wanted.parent = rail.vlan ? wanted.name.substr(0, wanted.name.rfind('.')) : there->parent;
}

WantedInterface rail_interface(const Target& target, const Rail& rail, const RailPort& port) {
  WantedInterface wanted{.name = port.interface, .mtu = rail.mtu};
  if (rail.fabric == Fabric::kInfiniband)
    take_ipoib(target, port, wanted);
  else
    take_vlan(target, rail, wanted);
  if (port.address && rail.subnet) wanted.addresses.push_back({*port.address, rail.subnet->prefix()});
  return wanted;
}

WantedInterface* find_wanted(std::vector<WantedInterface>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &WantedInterface::name);
  return found == all.end() ? nullptr : &*found;
}

// Adds the carrier of a VLAN, or raises its MTU: a VLAN has at most the MTU of its carrier, which must exist
// first.
void add_parent(const WantedInterface& vlan, std::vector<WantedInterface>& rails) {
  if (WantedInterface* parent = find_wanted(rails, vlan.parent)) {
    parent->mtu = std::max(parent->mtu.value_or(0), vlan.mtu.value_or(0));
    if (*parent->mtu == 0) parent->mtu.reset();
    return;
  }
  rails.push_back({.name = vlan.parent, .mtu = vlan.mtu});
}

std::optional<WantedInterface> management_interface(const Configuration& configure) {
  if (!configure.management_interface) return std::nullopt;
  WantedInterface wanted{.name = *configure.management_interface, .rail = false};
  wanted.dhcp = configure.management_dhcp.value_or(false);
  wanted.gateway = configure.management_gateway;
  wanted.dns = configure.management_dns.value_or(std::vector<IpAddress>{});
  if (configure.management_address) wanted.addresses.push_back(*configure.management_address);
  if (!wanted.dhcp && wanted.addresses.empty()) return std::nullopt;  // it would lose its present address
  return wanted;
}

// Merges a rail on the management interface: the one interface gets what both need.
void join_management(WantedInterface& management, std::vector<WantedInterface>& rails) {
  const WantedInterface* rail = find_wanted(rails, management.name);
  if (rail == nullptr) return;
  if (rail->kind == LinkKind::kEthernet) {
    management.mtu = rail->mtu;
    for (const InterfaceAddress& address : rail->addresses)
      if (std::ranges::find(management.addresses, address) == management.addresses.end())
        management.addresses.push_back(address);
  }
  std::erase_if(rails, [&](const WantedInterface& interface) { return interface.name == management.name; });
}

bool holds(const NetInterface* interface, const IpAddress& address) {
  if (interface == nullptr || !interface->addresses.ok()) return false;
  return std::ranges::find(*interface->addresses, address, &InterfaceAddress::address) !=
         interface->addresses->end();
}

// Returns true if railbed itself connects through this interface.
bool carries_ssh(const Node& node, const NetInterface* interface, const WantedInterface& wanted) {
  const auto address = ssh_address(node);
  if (!address) return false;
  return holds(interface, *address) ||
         std::ranges::find(wanted.addresses, *address, &InterfaceAddress::address) != wanted.addresses.end();
}

// Returns an address that cluster.yaml does not mention, so it has another use; null if there is none.
const InterfaceAddress* foreign_address(const NetInterface* interface, const WantedInterface& wanted) {
  if (interface == nullptr || !interface->addresses.ok() || !wanted.addresses.empty()) return nullptr;
  const auto found = std::ranges::find_if(*interface->addresses, [](const InterfaceAddress& address) {
    return !address.address.is_link_local();
  });
  return found == interface->addresses->end() ? nullptr : &*found;
}

std::string odd_name(const std::string& interface) {
  return fmt::format("\"{}\" has characters that mean something else in a file", interface);
}

std::string why_link_left_alone(const NetInterface& interface) {
  if (interface.master.ok())
    return fmt::format("{} belongs to {}, which has its address", interface.name, *interface.master);
  if (interface.bond_mode.ok())
    return fmt::format("{} is a bond, which railbed does not write", interface.name);
  return "";
}

std::string why_rail_left_alone(const Target& target, const NetInterface* interface,
                                const WantedInterface& wanted) {
  const std::string& name = wanted.name;
  if (has_default_route(target.facts().net, name))
    return fmt::format(
        "{} carries the default route; where it is meant to be a rail as well, describe it "
        "as configure.management_interface",
        name);
  if (carries_ssh(target.node(), interface, wanted))
    return fmt::format("ssh comes in by {}; describe it as configure.management_interface", name);
  if (const InterfaceAddress* other = foreign_address(interface, wanted))
    return fmt::format("{} carries a VLAN and has {}, of which cluster.yaml does not speak", name,
                       to_text(*other));
  if (wanted.kind == LinkKind::kInfiniband && name.find('.') != std::string::npos)
    return fmt::format("{} belongs to a partition of its own, which railbed does not write", name);
  if (wanted.kind == LinkKind::kEthernet && name.find('.') != std::string::npos)
    return fmt::format("{} is named as VLANs are; say which one in cluster.yaml, as in \"vlan: 100\"", name);
  return "";
}

}  // namespace

std::string WantedInterface::to_text() const {
  std::vector<std::string> has;
  if (dhcp) has.emplace_back("DHCP");
  for (const InterfaceAddress& address : addresses) has.push_back(railbed::to_text(address));
  if (mtu) has.push_back(fmt::format("MTU {}", *mtu));
  if (vlan > 0) has.push_back(fmt::format("VLAN {}", vlan));
  return fmt::format("{} {}", name, fmt::join(has, ", "));
}

bool WantedNetwork::is_rail(std::string_view interface) const {
  return std::ranges::find(rails, interface, &WantedInterface::name) != rails.end();
}

WantedNetwork wanted_network(const Target& target) {
  WantedNetwork network;
  std::vector<WantedInterface> vlans;
  for (const Rail& rail : target.cluster().rails) {
    const RailPort* port = find_port(rail, target.node().name);
    // A rail on InfiniBand does not need IP.
    if (port == nullptr || (rail.fabric == Fabric::kInfiniband && !port->address)) continue;
    WantedInterface wanted = rail_interface(target, rail, *port);
    (wanted.kind == LinkKind::kVlan ? vlans : network.rails).push_back(std::move(wanted));
  }
  for (const WantedInterface& interface : vlans) add_parent(interface, network.rails);
  network.rails.insert(network.rails.end(), vlans.begin(), vlans.end());
  network.management = management_interface(target.configure());
  if (network.management) join_management(*network.management, network.rails);
  for (const std::string& name : target.configure().unused_interfaces.value_or(std::vector<std::string>{}))
    if (!network.is_rail(name) && name != target.configure().management_interface)
      network.unused.push_back(name);
  return network;
}

std::string why_left_alone(const Target& target, const WantedNetwork& network,
                           const WantedInterface& wanted) {
  if (!is_plain_interface(wanted.name)) return odd_name(wanted.name);
  const NetInterface* interface = find_interface(target.facts().net, wanted.name);
  if (interface != nullptr)
    if (std::string why = why_link_left_alone(*interface); !why.empty()) return why;
  if (!wanted.rail) return "";
  if (std::string why = why_rail_left_alone(target, interface, wanted); !why.empty()) return why;
  if (wanted.kind != LinkKind::kVlan) return "";
  const auto parent = std::ranges::find(network.rails, wanted.parent, &WantedInterface::name);
  if (parent == network.rails.end())
    return fmt::format("{} is the management interface: a VLAN on it is made by hand", wanted.parent);
  return why_left_alone(target, network, *parent);
}

std::string why_not_taken_down(const Target& target, const std::string& interface) {
  if (!is_plain_interface(interface)) return odd_name(interface);
  const NetInterface* found = find_interface(target.facts().net, interface);
  if (has_default_route(target.facts().net, interface))
    return fmt::format("{} carries the default route", interface);
  if (carries_ssh(target.node(), found, {.name = interface}))
    return fmt::format("ssh comes in by {}", interface);
  for (const RailEnd& end : target.view.ends)
    if (share_spark_cable(target.facts(), interface, end.name))
      return fmt::format(
          "{} has a cable: it is the second way to that of {}, with PCIe lanes of its own. Make it a rail in another "
          "subnet, and take it out of configure.unused_interfaces",
          interface, end.name);
  return found == nullptr ? "" : why_link_left_alone(*found);
}

}  // namespace railbed
