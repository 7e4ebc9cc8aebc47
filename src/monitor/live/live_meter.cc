#include "monitor/live/live_meter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace railbed {
namespace {

using Counters = std::map<std::string, std::uint64_t>;

constexpr std::string_view kReceived = "bytes received";
constexpr std::string_view kSent = "bytes sent";

// Error counters: each moves only if something is lost, damaged or repeated. docs/reference/metrics.md
// describes them. Packets that an interface drops because no program wants them are not errors.
constexpr std::array<std::string_view, 16> kPortErrors = {"symbol_error",
                                                          "link_error_recovery",
                                                          "link_downed",
                                                          "port_rcv_errors",
                                                          "port_xmit_discards",
                                                          "port_rcv_remote_physical_errors",
                                                          "local_link_integrity_errors",
                                                          "excessive_buffer_overrun_errors",
                                                          "out_of_sequence",
                                                          "packet_seq_err",
                                                          "local_ack_timeout_err",
                                                          "out_of_buffer",
                                                          "rnr_nak_retry_err",
                                                          "implied_nak_seq_err",
                                                          "rx_icrc_encapsulated",
                                                          "req_transport_retries_exceeded"};
constexpr std::array<std::string_view, 3> kInterfaceErrors = {"rx_errors", "tx_errors", "rx_missed_errors"};
constexpr std::array<std::string_view, 4> kDriverErrors = {"rx_crc_errors_phy", "rx_symbol_err_phy",
                                                           "rx_discards_phy", "tx_discards_phy"};
// Counters of all bytes that pass the port, for drivers that have them: mlx5; ice and i40e.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kPortBytes = {
    {{"rx_bytes_phy", "tx_bytes_phy"}, {"port.rx_bytes", "port.tx_bytes"}}};

std::optional<std::uint64_t> value_in(const Counters& counters, std::string_view name) {
  const auto found = counters.find(std::string(name));
  return found == counters.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint64_t> value_in(const std::map<std::string, Reading<std::uint64_t>>& counters,
                                      std::string_view name) {
  const auto found = counters.find(std::string(name));
  return found == counters.end() || !found->second ? std::nullopt : std::optional(*found->second);
}

// Returns the bytes that the port received or sent, by the preference at the head of live_meter.h.
std::optional<std::uint64_t> bytes_of(const InterfaceCounts* interface, const RdmaPort* port, bool received) {
  for (const auto& [in, out] : kPortBytes)
    if (interface != nullptr)
      if (const auto all = value_in(interface->driver, received ? in : out)) return all;
  const auto rdma = port == nullptr
                        ? std::nullopt
                        : port_bytes(port->counters, received ? "port_rcv_data" : "port_xmit_data");
  if (rdma && port->link_layer.value_or("") == "InfiniBand") return rdma;
  const auto net = interface == nullptr ? std::nullopt
                                        : value_in(interface->statistics, received ? "rx_bytes" : "tx_bytes");
  return std::max(rdma, net);  // nullopt is less than any number
}

Counters counters_of(const InterfaceCounts* interface, const RdmaPort* port) {
  Counters all;
  const auto add = [&](std::string_view name, std::optional<std::uint64_t> value) {
    if (value) all.emplace(name, *value);
  };
  add(kReceived, bytes_of(interface, port, true));
  add(kSent, bytes_of(interface, port, false));
  if (port != nullptr)
    for (const std::string_view name : kPortErrors) {
      add(name, value_in(port->counters, name));
      add(name, value_in(port->hw_counters, name));
    }
  if (interface == nullptr) return all;
  for (const std::string_view name : kInterfaceErrors) add(name, value_in(interface->statistics, name));
  for (const std::string_view name : kDriverErrors) add(name, value_in(interface->driver, name));
  return all;
}

// Rounds to three digits. A sparkline shows no more, and a fleet sends hundreds of thousands of samples.
double three_digits(double value) {
  if (value <= 0) return 0;
  const double after_point = 2 - std::floor(std::log10(value));
  const double factor = std::pow(10, std::abs(after_point));
  return after_point > 0 ? std::round(value * factor) / factor : std::round(value / factor) * factor;
}

void keep(LiveSamples& samples, std::optional<double> value) {
  if (value) value = three_digits(*value);
  samples.push_back(value);
  if (samples.size() > kLiveSamples) samples.erase(samples.begin());
}

// Returns the rate in units per second, rounded to 0.01; nullopt if a value is missing or the counter was
// reset.
std::optional<double> rate_of(const Counters& before, const Counters& now, std::string_view name,
                              double seconds) {
  const auto first = value_in(before, name);
  const auto last = value_in(now, name);
  if (!first || !last || *last < *first) return std::nullopt;
  return std::round(static_cast<double>(*last - *first) / seconds * 100) / 100;
}

// Returns the errors that were counted since `before`, the most frequent first.
std::vector<LiveError> errors_of(const Counters& before, const Counters& now, double seconds) {
  std::vector<LiveError> errors;
  for (const auto& [name, value] : now) {
    if (name == kReceived || name == kSent) continue;
    const auto rate = rate_of(before, now, name, seconds);
    if (rate.value_or(0) > 0) errors.push_back({name, *rate});
  }
  std::ranges::stable_sort(errors, std::greater<>(), &LiveError::a_second);
  return errors;
}

const InterfaceCounts* find_interface(const Counts& counts, const std::string& name) {
  const auto found =
      std::ranges::find_if(counts.interfaces, [&](const auto& one) { return one.link.name == name; });
  return found == counts.interfaces.end() ? nullptr : &*found;
}

const RdmaPort* find_port(const Counts& counts, std::string_view device) {
  for (const PortCounts& port_counts : counts.ports)
    if (device == port_counts.device + "/" + std::to_string(port_counts.port.number))
      return &port_counts.port;
  return nullptr;
}

void show_state(const InterfaceCounts* interface, const RdmaPort* port, LiveEnd& end) {
  if (interface != nullptr) {
    end.mtu = interface->link.mtu ? std::optional(*interface->link.mtu) : std::nullopt;
    if (end.device.empty()) end.state = interface->link.operational_state.value_or("");
    const int speed = interface->link.speed_mbps.value_or(0);
    if (end.device.empty()) end.rate = speed > 0 ? std::optional(BitRate{speed * 1e6}) : std::nullopt;
  }
  if (port == nullptr) return;
  end.state = port->state.value_or("");
  end.rate = port->rate ? std::optional(*port->rate) : std::nullopt;
}

template <class T>
std::optional<double> number_in(const Reading<T>& reading) {
  return reading ? std::optional(static_cast<double>(*reading)) : std::nullopt;
}

}  // namespace

std::vector<std::string> metered_driver_counters() {
  std::vector<std::string> names(kDriverErrors.begin(), kDriverErrors.end());
  for (const auto& [received, sent] : kPortBytes) {
    names.emplace_back(received);
    names.emplace_back(sent);
  }
  return names;
}

void LiveMeter::measure(LiveView& view, const std::string& node, const LiveCount& count) {
  if (count.counts)
    for (LiveRail& rail : view.rails)
      for (LiveEnd& end : rail.ends)
        if (end.node == node) measure_end(end, count);
  if (count.gpus)
    for (LiveNode& live_node : view.nodes)
      if (live_node.name == node)
        for (LiveGpu& gpu : live_node.gpus) measure_gpu(gpu, node, count);
}

void LiveMeter::measure_end(LiveEnd& end, const LiveCount& count) {
  const InterfaceCounts* const interface = find_interface(*count.counts, end.interface);
  const RdmaPort* const port = find_port(*count.counts, end.device);
  show_state(interface, port, end);
  Port& known = ports_[{end.node, end.interface}];
  known.used = true;
  if (count.at > known.at) {
    Counters now = counters_of(interface, port);
    const auto elapsed = count.at - known.at;
    const double seconds = std::chrono::duration<double>(elapsed).count();
    const bool usable = known.at != std::chrono::steady_clock::time_point{} && elapsed <= kLongest;
    const auto rate = [&](std::string_view name) {
      return usable ? rate_of(known.counters, now, name, seconds) : std::nullopt;
    };
    known.receive = rate(kReceived);
    known.transmit = rate(kSent);
    known.errors = usable ? errors_of(known.counters, now, seconds) : std::vector<LiveError>{};
    double errors = 0;
    for (const LiveError& error : known.errors) errors += error.a_second;
    keep(known.receive_samples, known.receive);
    keep(known.transmit_samples, known.transmit);
    keep(known.error_samples, usable ? std::optional(errors) : std::nullopt);
    known.counters = std::move(now);
    known.at = count.at;
  }
  end.receive = known.receive;
  end.transmit = known.transmit;
  end.errors = known.errors;
  end.receive_samples = known.receive_samples;
  end.transmit_samples = known.transmit_samples;
  end.error_samples = known.error_samples;
}

void LiveMeter::measure_gpu(LiveGpu& gpu, const std::string& node, const LiveCount& count) {
  const auto reading = count.gpus->find(gpu.pci_address);
  if (reading == count.gpus->end()) return;
  Gpu& known = gpus_[{node, gpu.pci_address}];
  known.used = true;
  const bool answers = reading->second.ok();
  if (answers) {
    const NvmlGpu& now = *reading->second;
    gpu.utilisation = number_in(now.utilisation);
    gpu.temperature = number_in(now.temperature);
    gpu.power = number_in(now.power);
    gpu.power_limit = number_in(now.power_limit);
    gpu.memory_used = number_in(now.memory_used);
    gpu.memory = number_in(now.memory);
  } else if (gpu.trouble.empty()) {
    gpu.trouble = reading->second.miss().why;
  }
  if (known.of != count.gpus) keep(known.samples, gpu.utilisation);
  known.of = count.gpus;
  gpu.utilisation_samples = known.samples;
}

void LiveMeter::forget_unused() {
  const auto unused = [](const auto& entry) { return !entry.second.used; };
  std::erase_if(ports_, unused);
  std::erase_if(gpus_, unused);
  for (auto& [key, one] : ports_) one.used = false;
  for (auto& [key, one] : gpus_) one.used = false;
}

}  // namespace railbed
