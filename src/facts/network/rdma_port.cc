// Maps an interface to the RDMA port that carries it; every rule about rails starts with this.
//
// A port whose GID table names the interface is certain. Otherwise the first port is inferred whose device is
// a software device on the interface or on its VLAN's parent, or shares the PCI function with it. On a
// function with two ports, dev_port selects the port.
#include "facts/network/net.h"
#include "facts/network/rdma.h"

namespace railbed {
namespace {

bool gid_names(const RdmaPort& port, std::string_view interface) {
  for (const auto& gid : items(port.gids))
    if (gid.netdev && *gid.netdev == interface) return true;
  return false;
}

// Returns true if the interface is on this port's PCI function. Both ports of a ConnectX-3 are on one
// function; dev_port then counts them from 0.
bool shares_function(const RdmaDevice& device, const RdmaPort& port, const NetInterface& interface) {
  if (!device.pci_address || !interface.pci_address || *device.pci_address != *interface.pci_address)
    return false;
  return device.ports->size() == 1 || (interface.device_port && *interface.device_port + 1 == port.number);
}

}  // namespace

RdmaPortRef rdma_port_of(const Rdma& rdma, const Net& net, std::string_view interface) {
  if (!rdma.devices) return {};
  const NetInterface* found = carrier_of(net, interface);
  // The GID table has precedence over inference.
  RdmaPortRef inferred;
  for (const auto& device : *rdma.devices) {
    if (!device.ports) continue;
    for (const auto& port : *device.ports) {
      if (gid_names(port, interface)) return {&device, &port};
      const bool on_it = device.parent &&
                         (*device.parent == interface || (found != nullptr && *device.parent == found->name));
      if (!inferred && (on_it || (found != nullptr && shares_function(device, port, *found))))
        inferred = {&device, &port};
    }
  }
  return inferred;
}

}  // namespace railbed
