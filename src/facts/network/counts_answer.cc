#include "facts/network/counts_answer.h"

#include <algorithm>

namespace railbed {
namespace {

constexpr const char* kAgent = "the agent's counts";

// Rebuilds the part of the node's RDMA facts that collect_counts() needs from the request. The agent keeps no
// state between requests.
Rdma known_by(const CountsRequest& request) {
  std::vector<RdmaDevice> devices;
  for (const KnownPort& one : request.ports) {
    RdmaDevice device;
    device.name = one.device;
    device.management = Reading<bool>(one.management, kAgent);
    RdmaPort port;
    port.number = one.number;
    device.ports = Reading<std::vector<RdmaPort>>({port}, kAgent);
    devices.push_back(std::move(device));
  }
  Rdma rdma;
  rdma.devices = Reading<std::vector<RdmaDevice>>(std::move(devices), kAgent);
  return rdma;
}

CountedPort counted(const PortCounts& counts) {
  const RdmaPort& port = counts.port;
  CountedPort one;
  one.device = counts.device;
  one.number = port.number;
  one.state = port.state.value_or("");
  one.link_layer = port.link_layer.value_or("");
  one.rate_text = port.rate_text.value_or("");
  if (port.rate) one.rate = *port.rate;
  for (const auto* counters : {&port.counters, &port.hw_counters})
    for (const auto& [name, value] : *counters)
      if (value) one.counters.emplace(name, *value);
  return one;
}

CountedInterface counted(const InterfaceCounts& counts, const std::vector<std::string>& driver) {
  const NetInterface& link = counts.link;
  CountedInterface one;
  one.name = link.name;
  one.state = link.operational_state.value_or("");
  if (link.carrier) one.carrier = *link.carrier;
  if (link.mtu) one.mtu = *link.mtu;
  if (link.speed_mbps) one.speed_mbps = *link.speed_mbps;
  one.statistics = counts.statistics;
  for (const std::string& name : driver)
    if (const auto found = counts.driver.find(name); found != counts.driver.end()) one.driver.insert(*found);
  return one;
}

// Set a reading unless the value is missing.
template <class T>
void put(Reading<T>& reading, const std::optional<T>& value) {
  if (value) reading = Reading<T>(*value, kAgent);
}

void put(Reading<std::string>& reading, const std::string& value) {
  if (!value.empty()) reading = Reading<std::string>(value, kAgent);
}

PortCounts port_of(const CountedPort& one) {
  PortCounts counts;
  counts.device = one.device;
  counts.port.number = one.number;
  put(counts.port.state, one.state);
  put(counts.port.link_layer, one.link_layer);
  put(counts.port.rate_text, one.rate_text);
  put(counts.port.rate, one.rate);
  for (const auto& [name, value] : one.counters)
    counts.port.counters.emplace(name, Reading<std::uint64_t>(value, kAgent));
  return counts;
}

InterfaceCounts interface_of(const CountedInterface& one) {
  InterfaceCounts counts;
  counts.link.name = one.name;
  put(counts.link.operational_state, one.state);
  put(counts.link.carrier, one.carrier);
  put(counts.link.mtu, one.mtu);
  put(counts.link.speed_mbps, one.speed_mbps);
  counts.statistics = one.statistics;
  counts.driver = one.driver;
  return counts;
}

}  // namespace

CountsRequest counts_request(const Rdma& known, std::vector<std::string> driver) {
  CountsRequest request;
  request.driver = std::move(driver);
  for (const RdmaDevice& device : items(known.devices))
    for (const RdmaPort& port : items(device.ports))
      request.ports.push_back({device.name, port.number, device.management.value_or(false)});
  return request;
}

CountsAnswer answer_counts(Host& host, const CountsRequest& request) {
  const Counts counts = collect_counts(host, known_by(request));
  CountsAnswer answer;
  answer.devices = counts.devices;
  for (const PortCounts& one : counts.ports) answer.ports.push_back(counted(one));
  for (const InterfaceCounts& one : counts.interfaces)
    answer.interfaces.push_back(counted(one, request.driver));
  for (const std::string& address : request.gpus) answer.gpus.emplace(address, read_nvml(host, address));
  return answer;
}

Counts counts_of(const CountsAnswer& answer) {
  Counts counts;
  counts.devices = answer.devices;
  for (const CountedPort& one : answer.ports) counts.ports.push_back(port_of(one));
  for (const CountedInterface& one : answer.interfaces) counts.interfaces.push_back(interface_of(one));
  return counts;
}

}  // namespace railbed
