// What a node's network adapters count, and the states that may differ a second later: what is looked at far
// more often than the facts, so nothing here starts a program. What stands still (firmware, GIDs, PCI) is in
// the facts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "facts/net.h"
#include "facts/rdma.h"

namespace railbed {

struct InterfaceCounts {
  NetInterface link = {};                                // its name, and what read_link() reads
  std::map<std::string, std::uint64_t> statistics = {};  // N/statistics: rx_bytes … tx_dropped
  std::map<std::string, std::uint64_t> driver =
      {};  // Host call "statistics NAME": as `ethtool -S`, of an adapter
};

struct PortCounts {
  std::string device;
  RdmaPort port = {};  // what read_port() reads
};

struct Counts {
  std::vector<std::string> devices = {};  // the RDMA devices that are there now, whether known or not
  std::vector<PortCounts> ports = {};
  std::vector<InterfaceCounts> interfaces = {};
};

// Of the devices and ports that `known` holds, and of all interfaces that are there but the loopback. A port
// whose adapter manages NVSwitches is not asked for its counters; see RdmaDevice::management.
Counts collect_counts(Host& host, const Rdma& known);

}  // namespace railbed
