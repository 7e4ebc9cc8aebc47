#include "model/link_remedy.h"

#include <fmt/format.h>

#include "hardware/part_model.h"
#include "model/boot_network.h"
#include "model/tools.h"

namespace railbed {

std::string port_interface(const RailEnd& end) {
  if (end.interface == nullptr || end.interface->pci_address.ok() || !end.rdma) return end.name;
  const auto& address = end.rdma.device->pci_address;
  if (!address.ok()) return end.rdma.device->parent.value_or(end.name);
  for (const NetInterface& interface : items(end.facts->net.interfaces))
    if (interface.pci_address.ok() && *interface.pci_address == *address &&
        interface.device_port.value_or(0) + 1 == end.rdma.port->number)
      return interface.name;
  return end.name;
}

// IPoIB interfaces do not show their module (mlx5i_ethtool_ops in Linux), so on InfiniBand the command
// addresses the device.
std::vector<ShellCommand> show_cable_with(const RailEnd& end) {
  if (!end.infiniband()) return {command("ethtool -m {}", port_interface(end))};
  if (!end.rdma || !end.rdma.device->pci_address.ok()) return {};
  return {command("mstlink -d {} -p {} -m -e", *end.rdma.device->pci_address, end.rdma.port->number)};
}

std::vector<ShellCommand> show_errors_with(const RailEnd& end) {
  if (end.infiniband()) return {"ibqueryerrors"};
  return {command("ethtool -S {} | grep -i -e err -e discard", port_interface(end))};
}

std::vector<ShellCommand> set_mtu_with(const RailEnd& end, int mtu) {
  std::string name = end.name;
  if (end.interface->master.ok()) {
    const NetInterface* bond = find_interface(end.facts->net, *end.interface->master);
    if (bond != nullptr && bond->bond_mode.ok()) name = bond->name;
  }
  std::vector<ShellCommand> commands;
  const std::string port = port_interface(end);
  const NetInterface* below = port == name ? nullptr : find_interface(end.facts->net, port);
  if (below != nullptr && !below->master.ok() && below->mtu.value_or(mtu) < mtu)
    commands.push_back(command("ip link set {} mtu {}", port, mtu));
  commands.push_back(command("ip link set {} mtu {}", name, mtu));
  return commands;
}

std::optional<bool> has_connected_ipoib(const RailEnd& end, const Cluster& cluster) {
  if (end.model != nullptr) return end.model->connected_ipoib;
  std::optional<bool> connects;
  for (const ClusterPart& part : cluster.parts) {
    if (part.kind != PartKind::kAdapter || end.port == nullptr || !is_on_node(part, end.port->node)) continue;
    const NicModel* const nic = find_nic_of_part(part.model);
    if (nic == nullptr || (connects && *connects != nic->connected_ipoib)) return std::nullopt;
    connects = nic->connected_ipoib;
  }
  return connects;
}

// Datagrams are no larger than the partition's multicast group, whatever the interface is set to
// (ipoib_change_mtu in drivers/infiniband/ulp/ipoib/ipoib_main.c).
Remedy set_ipoib_mtu(const NodeView& node, const RailEnd& end, int mtu, bool connected) {
  const bool is_connected =
      end.interface == nullptr || end.interface->ipoib_mode.value_or("connected") == "connected";
  Remedy remedy{"Set it on every node of the rail.", {}};
  if (connected && !is_connected) {
    remedy.text = "Set connected mode (IPoIB pauses for a moment) and the MTU on every node of the rail.";
    remedy.commands.push_back(command("echo connected > /sys/class/net/{}/mode", end.name));
  }
  if (!connected && mtu > kGroupMtu) {
    remedy.text = fmt::format(
        "Let the subnet manager make the partition as large: \"Default=0x7fff, ipoib, mtu=5 : "
        "ALL=full;\" in its {} and restart it; a managed switch has its own setting. Then restart "
        "IPoIB on every node, which cuts its connections, and set the MTU.",
        partitions_file(node));
    remedy.commands.push_back("saquery -g");
  }
  remedy.commands.push_back(command("ip link set {} mtu {}", end.name, mtu));
  for (const ShellCommand& keep : keep_ipoib_with(node, end, connected ? "connected" : "datagram", mtu))
    remedy.commands.push_back(keep);
  return remedy;
}

bool may_lose_address(const Facts& facts, const NetInterface* interface) {
  if (interface == nullptr || interface->master.ok()) return false;
  return !facts.net.default_routes.ok() || !has_default_route(facts.net, interface->name);
}

bool stands_alone(const RailEnd& end) {
  return may_lose_address(*end.facts, end.interface) && !end.interface->bond_mode.ok() &&
         port_interface(end) == end.name && carried_by(*end.facts, *end.interface).empty();
}

Remedy give_address(const RailEnd& end) {
  if (end.interface->master.ok())
    return {
        fmt::format("{0} belongs to {1}, which has to bear the address: name {1} in cluster.yaml, or take "
                    "{0} out of it.",
                    end.name, *end.interface->master)};
  return {"Add it now, and to the network configuration.",
          {command("ip address add {} dev {}", end.address_text(), end.name)}};
}

std::string held_as(const NetInterface& interface, const IpAddress& address) {
  for (const InterfaceAddress& interface_address : items(interface.addresses))
    if (interface_address.address == address)
      return fmt::format("{}/{}", address.to_text(), interface_address.prefix);
  return {};
}

std::vector<ShellCommand> take_address_with(const NetInterface& interface, const IpAddress& address) {
  const std::string held = held_as(interface, address);
  if (held.empty()) return {};
  return {command("ip address del {} dev {}", held, interface.name)};
}

// RoCE keeps the GIDs of a port's VLANs in the port's own table, each with its interface.
std::string carried_by(const Facts& facts, const NetInterface& interface) {
  const RdmaPortRef rdma = rdma_port_of(facts.rdma, facts.net, interface.name);
  if (!rdma) return {};
  for (const Gid& gid : items(rdma.port->gids)) {
    const NetInterface* upper = gid.netdev.ok() ? find_interface(facts.net, *gid.netdev) : nullptr;
    if (upper == nullptr || upper->name == interface.name || upper->pci_address.ok()) continue;
    if (!items(upper->addresses).empty()) return upper->name;
  }
  return {};
}

}  // namespace railbed
