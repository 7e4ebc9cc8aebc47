// A cluster of N nodes with eight rails, composed of one captured machine.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "facts/facts.h"
#include "host/open.h"
#include "inventory/load.h"
#include "verify/verify.h"

namespace railbed {
// 10.RAIL.0.1 of the captured node becomes the i-th node's own; everything else stays.
inline void readdress(IpAddress& address, int i) {
  auto bytes = address.bytes();
  if (!address.is_v4() || bytes[12] != 10 || bytes[14] != 0 || bytes[15] != 1) return;
  bytes[14] = static_cast<std::uint8_t>(i / 250);
  bytes[15] = static_cast<std::uint8_t>(i % 250 + 1);
  address = IpAddress(bytes);
}

// The reading with its value changed in place.
template <class T, class Change>
void edit(Reading<T>& reading, Change change) {
  if (!reading.ok()) return;
  T value = reading.value();
  change(value);
  reading = Reading<T>(std::move(value), reading.from());
}

inline void readdress(Facts& facts, int i) {
  edit(facts.net.interfaces, [i](auto& interfaces) {
    for (NetInterface& interface : interfaces)
      edit(interface.addresses, [i](auto& addresses) {
        for (InterfaceAddress& address : addresses) readdress(address.address, i);
      });
  });
  edit(facts.rdma.devices, [i](auto& devices) {
    for (RdmaDevice& device : devices)
      edit(device.ports, [i](auto& ports) {
        for (RdmaPort& port : ports)
          edit(port.gids, [i](auto& gids) {
            for (Gid& gid : gids) edit(gid.gid, [i](IpAddress& address) { readdress(address, i); });
          });
      });
  });
}

// The 8×H100 machine of tests/machines over and over, each with addresses of its own.
inline Evidence composed_evidence(int nodes) {
  const std::string folder = RAILBED_SOURCE_DIR "/tests/machines/h100-cx7";
  auto cluster = load_cluster(folder + "/cluster.yaml");
  auto host = open_root(folder + "/gpu01.tree");
  if (!cluster || !host) return {};
  const Facts facts = collect_facts(**host);
  Evidence evidence;
  evidence.cluster = *cluster;
  evidence.cluster.nodes.clear();
  for (Rail& rail : evidence.cluster.rails) {
    rail.subnet.reset();
    rail.ports.resize(1);
  }
  for (int i = 0; i < nodes; ++i) {
    Node node = cluster->nodes.front();
    node.name = fmt::format("gpu{:05}", i);
    for (Rail& rail : evidence.cluster.rails) {
      if (i > 0) rail.ports.push_back(rail.ports.front());
      rail.ports.back().node = node.name;
    }
    Facts own = facts;
    readdress(own, i);
    evidence.nodes.emplace(node.name, std::move(own));
    evidence.cluster.nodes.push_back(std::move(node));
  }
  for (Rail& rail : evidence.cluster.rails)  // the first last: the others started as its copies
    for (std::size_t i = rail.ports.size(); i-- > 0;)
      if (rail.ports[i].address) readdress(*rail.ports[i].address, static_cast<int>(i));
  return evidence;
}

}  // namespace railbed
