#include "facts/network/counts.h"

#include <array>

#include "base/json.h"
#include "facts/readings.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr const char* kInterfaces = "/sys/class/net";

// The files that are watched, out of two dozen. A file that cannot be read is left out of the map.
constexpr std::array<std::string_view, 9> kStatisticsFiles = {"rx_bytes",         "rx_dropped", "rx_errors",
                                                              "rx_missed_errors", "rx_packets", "tx_bytes",
                                                              "tx_dropped",       "tx_errors",  "tx_packets"};

std::map<std::string, std::uint64_t> read_statistics(Host& host, const std::string& folder) {
  std::map<std::string, std::uint64_t> found;
  for (const std::string_view name : kStatisticsFiles)
    if (const auto value = read_number<std::uint64_t>(host, folder + "/" + std::string(name)))
      found.emplace(name, *value);
  return found;
}

std::map<std::string, std::uint64_t> read_driver(Host& host, const std::string& interface) {
  if (!host.resolve(std::string(kInterfaces) + "/" + interface + "/device")) return {};
  const auto answer = host.call("statistics " + interface);
  if (!answer) return {};
  auto counted = json::read<std::map<std::string, std::uint64_t>>(*answer);
  return counted ? std::move(*counted) : std::map<std::string, std::uint64_t>{};
}

}  // namespace

std::map<std::string, std::uint64_t> interface_statistics(Host& host, const std::string& interface) {
  if (interface.empty() || interface.size() > kLongestInterface || interface.find('/') != std::string::npos ||
      interface.starts_with('.'))
    return {};
  return read_statistics(host, std::string(kInterfaces) + "/" + interface + "/statistics");
}

std::uint64_t port_counter_unit(std::string_view name) {
  return name == "port_rcv_data" || name == "port_xmit_data" ? 4 : 1;
}

std::optional<std::uint64_t> port_bytes(const std::map<std::string, Reading<std::uint64_t>>& counters,
                                        const std::string& name) {
  const auto found = counters.find(name);
  if (found == counters.end() || !found->second) return std::nullopt;
  return *found->second * port_counter_unit(name);
}

Counts collect_counts(Host& host, const Rdma& known) {
  Counts counts;
  counts.devices = host.list("/sys/class/infiniband").value_or({});
  for (const RdmaDevice& device : items(known.devices))
    for (const RdmaPort& port : items(device.ports)) {
      PortCounts& found = counts.ports.emplace_back(PortCounts{device.name, {}});
      found.port.number = port.number;
      read_port(host, device.name, !device.management.value_or(false), found.port);
    }
  const auto names = device_names(host, kInterfaces, kLongestInterface);
  for (const std::string& name : items(names)) {
    if (name == "lo" || name == "bonding_masters") continue;
    InterfaceCounts& found = counts.interfaces.emplace_back();
    found.link.name = name;
    read_link(host, found.link);
    found.statistics = read_statistics(host, std::string(kInterfaces) + "/" + name + "/statistics");
    found.driver = read_driver(host, name);
  }
  return counts;
}

}  // namespace railbed
