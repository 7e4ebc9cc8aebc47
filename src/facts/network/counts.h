// The counters of a node's network adapters, and the port and link states that may change within a second.
// They are read far more often than the facts, so nothing here starts a program. Properties that do not
// change (firmware, GIDs, PCI) are in the facts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/network/net.h"
#include "facts/network/rdma.h"

namespace railbed {

// The counters of an interface. N = /sys/class/net/NAME
struct InterfaceCounts {
  NetInterface link = {};                                // the name, and the fields that read_link() reads
  std::map<std::string, std::uint64_t> statistics = {};  // N/statistics: rx_bytes … tx_dropped
  // Host call "statistics NAME", as `ethtool -S`; adapters only.
  std::map<std::string, std::uint64_t> driver = {};
};

struct PortCounts {
  std::string device;
  RdmaPort port = {};  // the number, and the fields that read_port() reads
};

struct Counts {
  std::vector<std::string> devices = {};  // RDMA devices that exist now, known or not
  std::vector<PortCounts> ports = {};
  std::vector<InterfaceCounts> interfaces = {};
};

// Returns how many bytes a counter of a port counts as one: 4 of port_rcv_data and port_xmit_data, which count words
// (InfiniBand Architecture Specification, volume 1, 16.1.3.5), else 1.
std::uint64_t port_counter_unit(std::string_view name);
// Returns a port's counter of data in bytes; nullopt if it is not among these or could not be read.
std::optional<std::uint64_t> port_bytes(const std::map<std::string, Reading<std::uint64_t>>& counters,
                                        const std::string& name);

// Reads the counters of the devices and ports in `known`, and of all interfaces except the loopback. The
// counters of a port whose adapter manages NVSwitches are not read; see RdmaDevice::management.
Counts collect_counts(Host& host, const Rdma& known);

// Reads N/statistics of one interface. The file of a name that is none of an interface is not opened.
std::map<std::string, std::uint64_t> interface_statistics(Host& host, const std::string& interface);

}  // namespace railbed
