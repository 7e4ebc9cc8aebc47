#include "facts/network/counts_answer.h"

#include <algorithm>

namespace railbed {
namespace {

constexpr const char* kAgent = "the agent's counts";

// Rebuilds the part of the node's RDMA facts that collect_counts() needs from the request. The agent keeps no
// state between requests.
Rdma known_by(const CountsRequest& request) {
  std::vector<RdmaDevice> devices;
  for (const KnownPort& known_port : request.ports) {
    RdmaDevice device;
    device.name = known_port.device;
    device.management = Reading<bool>(known_port.management, kAgent);
    RdmaPort port;
    port.number = known_port.number;
    device.ports = Reading<std::vector<RdmaPort>>({port}, kAgent);
    devices.push_back(std::move(device));
  }
  Rdma rdma;
  rdma.devices = Reading<std::vector<RdmaDevice>>(std::move(devices), kAgent);
  return rdma;
}

CountedPort counted(const PortCounts& counts) {
  const RdmaPort& port = counts.port;
  CountedPort counted_port;
  counted_port.device = counts.device;
  counted_port.number = port.number;
  counted_port.state = port.state.value_or("");
  counted_port.link_layer = port.link_layer.value_or("");
  counted_port.rate_text = port.rate_text.value_or("");
  if (port.rate) counted_port.rate = *port.rate;
  for (const auto* counters : {&port.counters, &port.hw_counters})
    for (const auto& [name, value] : *counters)
      if (value) counted_port.counters.emplace(name, *value);
  return counted_port;
}

CountedInterface counted(const InterfaceCounts& counts, const std::vector<std::string>& driver) {
  const NetInterface& link = counts.link;
  CountedInterface interface;
  interface.name = link.name;
  interface.state = link.operational_state.value_or("");
  if (link.carrier) interface.carrier = *link.carrier;
  if (link.mtu) interface.mtu = *link.mtu;
  if (link.speed_mbps) interface.speed_mbps = *link.speed_mbps;
  interface.carrier_changes = link.carrier_changes.to_optional();
  interface.statistics = counts.statistics;
  for (const std::string& name : driver)
    if (const auto found = counts.driver.find(name); found != counts.driver.end())
      interface.driver.insert(*found);
  return interface;
}

// Set a reading unless the value is missing.
template <class T>
void put(Reading<T>& reading, const std::optional<T>& value) {
  if (value) reading = Reading<T>(*value, kAgent);
}

void put(Reading<std::string>& reading, const std::string& value) {
  if (!value.empty()) reading = Reading<std::string>(value, kAgent);
}

PortCounts port_of(const CountedPort& port) {
  PortCounts counts;
  counts.device = port.device;
  counts.port.number = port.number;
  put(counts.port.state, port.state);
  put(counts.port.link_layer, port.link_layer);
  put(counts.port.rate_text, port.rate_text);
  put(counts.port.rate, port.rate);
  for (const auto& [name, value] : port.counters)
    counts.port.counters.emplace(name, Reading<std::uint64_t>(value, kAgent));
  return counts;
}

InterfaceCounts interface_of(const CountedInterface& interface) {
  InterfaceCounts counts;
  counts.link.name = interface.name;
  put(counts.link.operational_state, interface.state);
  put(counts.link.carrier, interface.carrier);
  put(counts.link.mtu, interface.mtu);
  put(counts.link.speed_mbps, interface.speed_mbps);
  put(counts.link.carrier_changes, interface.carrier_changes);
  counts.statistics = interface.statistics;
  counts.driver = interface.driver;
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

CountsAnswer answer_counts(Host& host, const CountsRequest& request, KnownUsers& users) {
  const Counts counts = collect_counts(host, known_by(request));
  CountsAnswer answer;
  answer.devices = counts.devices;
  for (const PortCounts& port_counts : counts.ports) answer.ports.push_back(counted(port_counts));
  for (const InterfaceCounts& interface_counts : counts.interfaces)
    answer.interfaces.push_back(counted(interface_counts, request.driver));
  for (const std::string& address : request.gpus) answer.gpus.emplace(address, read_nvml(host, address));
  answer.jobs = collect_gpu_jobs(host, answer.gpus, users);
  answer.links = read_links(host, request.links);
  return answer;
}

Counts counts_of(const CountsAnswer& answer) {
  Counts counts;
  counts.devices = answer.devices;
  for (const CountedPort& port : answer.ports) counts.ports.push_back(port_of(port));
  for (const CountedInterface& interface : answer.interfaces)
    counts.interfaces.push_back(interface_of(interface));
  return counts;
}

}  // namespace railbed
