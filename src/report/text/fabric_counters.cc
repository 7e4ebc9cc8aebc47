#include "report/text/fabric_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "report/documents.h"
#include "report/escape.h"
#include "report/exposition.h"

namespace railbed {
namespace {

// Names of infiniband_exporter (github.com/treydock/infiniband_exporter, collectors/switch.go and hca.go),
// after "infiniband_switch_" or "infiniband_hca_"; in the order of IbCounter. The names of node_exporter
// itself (node_infiniband_…) cannot be used: its textfile collector and its InfiniBand collector would both
// produce them, with different labels, and the whole scrape would fail.
constexpr std::array<std::string_view, kIbCounters> kMetrics = {
    "port_symbol_error_total",
    "port_link_error_recovery_total",
    "port_link_downed_total",
    "port_receive_errors_total",
    "port_receive_remote_physical_errors_total",
    "port_receive_switch_relay_errors_total",
    "port_transmit_discards_total",
    "port_transmit_constraint_errors_total",
    "port_receive_constraint_errors_total",
    "port_local_link_integrity_errors_total",
    "port_excessive_buffer_overrun_errors_total",
    "port_vl15_dropped_total",
    "port_transmit_wait_total",
    "port_transmit_data_bytes_total",
    "port_receive_data_bytes_total",
    "port_transmit_packets_total",
    "port_receive_packets_total",
};

bool is_error(std::size_t counter) {
  const auto one = static_cast<IbCounter>(counter);
  return !is_traffic(one) && one != IbCounter::kXmitWait;
}

bool has_errors(const IbCounts& counts) {
  for (std::size_t i = 0; i < kIbCounters; ++i)
    if (is_error(i) && counts.value[i] != 0) return true;
  return false;
}

// Returns the ports that have a link, or counted errors before they lost it. Switches come first, since each
// cable except one between two HCAs ends at one; then by GUID and port, regardless of the order of responses.
std::vector<const IbCounterReading*> ports_to_tell(const IbFabric& fabric, const IbCounterLook& look) {
  std::vector<const IbCounterReading*> ports;
  for (const IbCounterReading& reading : look.ports)
    if (fabric.port(reading.end).peer || has_errors(reading.first)) ports.push_back(&reading);
  std::ranges::sort(ports, {}, [&](const IbCounterReading* reading) {
    const IbNode& node = fabric.at(reading->end);
    return std::tuple(!node.is_switch(), node.guid, reading->end.port);
  });
  return ports;
}

std::uint64_t value_of(const IbCounts& counts, std::size_t counter) {
  const auto one = static_cast<IbCounter>(counter);
  const std::uint64_t value = counts.value[counter];
  if (one != IbCounter::kXmitData && one != IbCounter::kRcvData) return value;
  constexpr std::uint64_t kWord = 4;  // bytes
  return std::min(value, std::numeric_limits<std::uint64_t>::max() / kWord) * kWord;
}

// Returns how many counters stopped at their maximum: those of less than 64 bits count no further.
std::size_t full_counters(const IbCounts& counts) {
  std::size_t full = 0;
  for (std::size_t i = 0; i < kIbCounters; ++i) full += counts.value[i] == ib_counter_rows()[i].end();
  return full;
}

std::string_view kind_of(const IbNode& node) { return node.is_switch() ? "switch" : "hca"; }

unsigned lid_of(const IbNode& node, int port) {
  return node.is_switch() ? node.ports[0].lid : node.ports[static_cast<std::size_t>(port)].lid;
}

using Ports = std::vector<const IbCounterReading*>;

class FabricMetrics {
 public:
  explicit FabricMetrics(const IbFabric& fabric) : fabric_(fabric) {}

  void number(std::string_view name, std::string_view help, std::size_t value) {
    out_.announce(name, "gauge", help);
    out_.sample(name, {}, value);
  }

  // Node descriptions are in these two metrics alone, so a node that changes its own starts no new series of
  // totals.
  void names(std::string_view kind, const Ports& ports) {
    const std::string info = fmt::format("infiniband_{}_info", kind);
    out_.announce(info, "gauge", "What the node calls itself, by its GUID; always 1.");
    const IbNode* last = nullptr;
    for (const IbCounterReading* reading : ports) {
      const IbNode& node = fabric_.at(reading->end);
      if (kind_of(node) != kind || std::exchange(last, &node) == &node) continue;
      const std::string lid = std::to_string(lid_of(node, reading->end.port));
      out_.sample(info, {{"guid", guid_text(node.guid)}, {kind, name_of(node)}, {"lid", lid}}, 1);
    }
  }

  void cables(std::string_view kind, const Ports& ports) {
    const std::string uplink = fmt::format("infiniband_{}_uplink_info", kind);
    out_.announce(uplink, "gauge", "What the port is cabled to; always 1.");
    for (const IbCounterReading* reading : ports) {
      const IbNode& node = fabric_.at(reading->end);
      const IbEnd peer = fabric_.port(reading->end).peer;
      if (kind_of(node) != kind || !peer) continue;
      const IbNode& far = fabric_.at(peer);
      out_.sample(uplink,
                  {{"guid", guid_text(node.guid)},
                   {"port", std::to_string(reading->end.port)},
                   {kind, name_of(node)},
                   {"uplink", name_of(far)},
                   {"uplink_guid", guid_text(far.guid)},
                   {"uplink_type", far.is_switch() ? "SW" : "CA"},
                   {"uplink_port", std::to_string(peer.port)},
                   {"uplink_lid", std::to_string(lid_of(far, peer.port))}},
                  1);
    }
  }

  void totals(std::string_view kind, const Ports& ports) {
    for (std::size_t i = 0; i < kIbCounters; ++i) {
      const std::string name = fmt::format("infiniband_{}_{}", kind, kMetrics[i]);
      out_.announce(name, "counter", fmt::format("{} of the port, as it counts.", ib_counter_rows()[i].name));
      for (const IbCounterReading* reading : ports)
        if (const IbNode& node = fabric_.at(reading->end); kind_of(node) == kind)
          out_.sample(name, {{"guid", guid_text(node.guid)}, {"port", std::to_string(reading->end.port)}},
                      value_of(reading->first, i));
    }
  }

  void full(const Ports& ports) {
    out_.announce(
        "railbed_fabric_counters_full", "gauge",
        "Counters of the port that stand at their end and count no more; left out where none does.");
    for (const IbCounterReading* reading : ports)
      if (const std::size_t full = full_counters(reading->first); full > 0)
        out_.sample(
            "railbed_fabric_counters_full",
            {{"guid", guid_text(fabric_.at(reading->end).guid)}, {"port", std::to_string(reading->end.port)}},
            full);
  }

  std::string take() { return out_.take(); }

 private:
  const IbFabric& fabric_;
  Exposition out_;
};

}  // namespace

std::string counters_text(const IbFabric& fabric, const IbCounterLook& look) {
  const Ports ports = ports_to_tell(fabric, look);
  std::string out;
  for (const IbCounterReading* reading : ports) {
    if (!has_errors(reading->first)) continue;
    const IbEnd peer = fabric.port(reading->end).peer;
    out += fmt::format("{}{}\n", printable(place_of(fabric, reading->end)),
                       peer ? ", cabled to " + printable(place_of(fabric, peer)) : ", without a link");
    for (std::size_t i = 0; i < kIbCounters; ++i)
      if (is_error(i) && reading->first.value[i] != 0)
        out += fmt::format("  {:<28}  {}\n", ib_counter_rows()[i].name, reading->first.value[i]);
  }
  const auto with = std::ranges::count_if(ports, [](const auto* one) { return has_errors(one->first); });
  out += fmt::format("{}{} of {} ports have counted errors{}\n", out.empty() ? "" : "\n", with, ports.size(),
                     look.unanswered > 0 ? fmt::format("; {} did not answer", look.unanswered) : "");
  return out;
}

std::string counters_json(const IbFabric& fabric, const IbCounterLook& look) {
  CountersDocument document{.unanswered = look.unanswered};
  for (const IbCounterReading* reading : ports_to_tell(fabric, look)) {
    const IbNode& node = fabric.at(reading->end);
    CountedPortDocument& port = document.ports.emplace_back();
    port.guid = guid_text(node.guid);
    port.node = name_of(node);
    port.type = kind_of(node);
    port.port = reading->end.port;
    if (const IbEnd peer = fabric.port(reading->end).peer)
      port.peer = {guid_text(fabric.at(peer).guid), name_of(fabric.at(peer)), peer.port};
    for (std::size_t i = 0; i < kIbCounters; ++i)
      port.counters.emplace(ib_counter_rows()[i].name, reading->first.value[i]);
  }
  return document_text(kCountersDocument, document);
}

std::string counters_prometheus(const IbFabric& fabric, const IbCounterLook& look, std::size_t most_ports) {
  Ports ports = ports_to_tell(fabric, look);
  const std::size_t all = ports.size();
  ports.resize(std::min(all, most_ports));
  FabricMetrics metrics(fabric);
  for (const std::string_view kind : {"switch", "hca"}) {
    metrics.names(kind, ports);
    metrics.cables(kind, ports);
    metrics.totals(kind, ports);
  }
  metrics.full(ports);
  metrics.number("railbed_fabric_nodes", "Switches and HCAs that were found.", fabric.nodes.size());
  metrics.number("railbed_fabric_ports", "Ports whose counters stand here.", ports.size());
  metrics.number("railbed_fabric_ports_left_out", "Ports beyond the most that are written.",
                 all - ports.size());
  metrics.number("railbed_fabric_ports_unanswered", "Ports that did not say their counters.",
                 look.unanswered);
  return metrics.take();
}

}  // namespace railbed
