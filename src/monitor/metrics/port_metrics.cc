// Exports RDMA ports under node_exporter's names (collector/infiniband_linux.go; a test compares them with version 1.5,
// which Debian 12 has). Data counters are converted from the kernel's four-byte words to
// bytes.
#include <fmt/format.h>

#include <array>
#include <set>
#include <string_view>

#include "monitor/metrics/families.h"

namespace railbed {
namespace {

struct PortCounter {
  std::string_view file;    // in counters/ or hw_counters/
  std::string_view metric;  // after the prefix node_infiniband_
  std::string_view help;
};

// The kernel's Documentation/ABI/stable/sysfs-class-infiniband describes these counters.
constexpr std::array kCounters = {
    PortCounter{"VL15_dropped", "vl15_dropped_total", "Management packets dropped for want of a buffer."},
    PortCounter{"excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors_total",
                "Buffers overrun."},
    PortCounter{"link_downed", "link_downed_total", "Times the link went down because it could not recover."},
    PortCounter{"link_error_recovery", "link_error_recovery_total",
                "Times the link recovered from an error."},
    PortCounter{"local_link_integrity_errors", "local_link_integrity_errors_total",
                "Too many errors in the link at once."},
    PortCounter{"multicast_rcv_packets", "multicast_packets_received_total", "Multicast packets received."},
    PortCounter{"multicast_xmit_packets", "multicast_packets_transmitted_total", "Multicast packets sent."},
    PortCounter{"port_rcv_constraint_errors", "port_constraint_errors_received_total",
                "Packets refused on their way in."},
    PortCounter{"port_xmit_constraint_errors", "port_constraint_errors_transmitted_total",
                "Packets refused on their way out."},
    PortCounter{"port_rcv_data", "port_data_received_bytes_total", "Bytes received."},
    PortCounter{"port_xmit_data", "port_data_transmitted_bytes_total", "Bytes sent."},
    PortCounter{"port_rcv_discards", "port_discards_received_total", "Packets received and discarded."},
    PortCounter{"port_xmit_discards", "port_discards_transmitted_total",
                "Packets discarded and not sent: the port was down or congested."},
    PortCounter{"port_rcv_errors", "port_errors_received_total", "Packets received with an error."},
    PortCounter{"port_rcv_packets", "port_packets_received_total", "Packets received."},
    PortCounter{"port_xmit_packets", "port_packets_transmitted_total", "Packets sent."},
    PortCounter{"port_rcv_remote_physical_errors", "port_receive_remote_physical_errors_total",
                "Packets that were marked as broken before they came."},
    PortCounter{"port_rcv_switch_relay_errors", "port_receive_switch_relay_errors_total",
                "Packets that could not be forwarded."},
    PortCounter{"port_xmit_wait", "port_transmit_wait_total",
                "Ticks in which there was data to send and no credit."},
    PortCounter{"symbol_error", "symbol_error_total", "Minor errors of the link."},
    PortCounter{"unicast_rcv_packets", "unicast_packets_received_total", "Unicast packets received."},
    PortCounter{"unicast_xmit_packets", "unicast_packets_transmitted_total", "Unicast packets sent."},
};
constexpr std::array kHardware = {
    PortCounter{"local_ack_timeout_err", "local_ack_timeout_errors_total",
                "Acknowledgements that did not come in time."},
    PortCounter{"np_cnp_sent", "np_cnp_packets_sent_total", "Congestion notifications sent."},
    PortCounter{"np_ecn_marked_roce_packets", "np_ecn_marked_roce_packets_received_total",
                "Packets received that a switch marked as congested."},
    PortCounter{"out_of_buffer", "out_of_buffer_drops_total",
                "Packets dropped because the receiver had posted no buffer."},
    PortCounter{"out_of_sequence", "out_of_sequence_packets_received_total",
                "Packets received out of their order."},
    PortCounter{"packet_seq_err", "packet_sequence_errors_total", "Requests to send again what was lost."},
    PortCounter{"roce_adp_retrans", "roce_adp_retransmits_total", "Adaptive retransmissions."},
    PortCounter{"rp_cnp_handled", "rp_cnp_packets_handled_total",
                "Congestion notifications that slowed the sender down."},
};
// Names that newer versions have in addition. These counters stay in railbed_hw_counter_total, too, which
// alerts and dashboards made for it select.
constexpr std::array kNewerHardware = {
    PortCounter{"duplicate_request", "duplicate_requests_packets_total", "Requests that came twice."},
    PortCounter{"implied_nak_seq_err", "implied_nak_seq_errors_total",
                "Acknowledgements ahead of the one that was due."},
    PortCounter{"req_cqe_error", "req_cqes_errors_total", "Requests that completed with an error."},
    PortCounter{"req_cqe_flush_error", "req_cqes_flush_errors_total",
                "Requests that were flushed from a queue pair in error."},
    PortCounter{"req_remote_access_errors", "req_remote_access_errors_total",
                "Requests that the peer refused: no such memory or right."},
    PortCounter{"req_remote_invalid_request", "req_remote_invalid_request_errors_total",
                "Requests that the peer took for invalid."},
    PortCounter{"resp_cqe_error", "resp_cqes_errors_total", "Responses that completed with an error."},
    PortCounter{"resp_cqe_flush_error", "resp_cqes_flush_errors_total",
                "Receives that were flushed from a queue pair in error."},
    PortCounter{"resp_local_length_error", "resp_local_length_errors_total",
                "Messages that did not fit the posted buffer."},
    PortCounter{"resp_remote_access_errors", "resp_remote_access_errors_total",
                "Requests of peers that were refused: no such memory or right."},
    PortCounter{"rnr_nak_retry_err", "rnr_nak_retry_packets_received_total",
                "Answers of a peer that had posted no buffer."},
    PortCounter{"roce_adp_retrans_to", "roce_adp_retransmits_timeout_total",
                "Adaptive retransmissions that timed out."},
    PortCounter{"roce_slow_restart", "roce_slow_restart_used_total", "Slow restarts."},
    PortCounter{"roce_slow_restart_cnps", "roce_slow_restart_cnps_total",
                "Congestion notifications that slow restart generated."},
    PortCounter{"roce_slow_restart_trans", "roce_slow_restart_total",
                "Changes of the state to slow restart."},
    PortCounter{"rp_cnp_ignored", "rp_cnp_ignored_packets_received_total",
                "Congestion notifications that were ignored."},
    PortCounter{"rx_atomic_requests", "rx_atomic_requests_total", "Atomic requests received."},
    PortCounter{"rx_dct_connect", "rx_dct_connect_requests_total",
                "Connection requests of dynamically connected peers."},
    PortCounter{"rx_icrc_encapsulated", "rx_icrc_encapsulated_errors_total",
                "RoCE packets with a wrong checksum."},
    PortCounter{"rx_read_requests", "rx_read_requests_total", "Reads received."},
    PortCounter{"rx_write_requests", "rx_write_requests_total", "Writes received."},
};

// Returns IBTA's number for a state. The kernel prints the number before the word, but facts keep only the
// word.
int number_of(std::string_view word, std::initializer_list<std::pair<std::string_view, int>> known) {
  for (const auto& [name, number] : known)
    if (word == name) return number;
  return 0;
}
int state_id(std::string_view word) {
  return number_of(word, {{"DOWN", 1}, {"INIT", 2}, {"ARMED", 3}, {"ACTIVE", 4}, {"ACTIVE_DEFER", 5}});
}
int physical_state_id(std::string_view word) {
  return number_of(word, {{"Sleep", 1},
                          {"Polling", 2},
                          {"Disabled", 3},
                          {"PortConfigurationTraining", 4},
                          {"LinkUp", 5},
                          {"LinkErrorRecovery", 6},
                          {"Phy Test", 7}});
}

using Readings = std::map<std::string, Reading<std::uint64_t>>;

class Ports {
 public:
  Ports(const Counts& counts, Exposition& out) : counts_(counts), out_(out) {}

  template <class Value>
  void gauge(std::string_view name, std::string_view help, Value&& value) {
    const std::string metric = fmt::format("node_infiniband_{}", name);
    out_.announce(metric, "gauge", help);
    for (const PortCounts& counts : counts_.ports)
      if (const auto found = value(counts.port))
        out_.sample(metric, {{"device", counts.device}, {"port", std::to_string(counts.port.number)}},
                    *found);
  }

  template <std::size_t Size>
  void counters(const std::array<PortCounter, Size>& names, Readings RdmaPort::*from) {
    for (const PortCounter& name : names) {
      const std::string metric = fmt::format("node_infiniband_{}", name.metric);
      bool announced = false;
      for (const PortCounts& counts : counts_.ports) {
        const auto found = (counts.port.*from).find(std::string(name.file));
        if (found == (counts.port.*from).end() || !found->second.ok()) continue;
        if (!announced) out_.announce(metric, "counter", name.help);
        announced = true;
        const std::uint64_t value = *found->second * port_counter_unit(name.file);
        out_.sample(metric, {{"device", counts.device}, {"port", std::to_string(counts.port.number)}}, value);
      }
    }
  }

  // Exports the counters for which node_exporter has no name.
  void others() {
    std::set<std::string_view> named;
    for (const PortCounter& name : kHardware) named.insert(name.file);
    out_.announce("railbed_hw_counter_total", "counter",
                  "A counter of hw_counters, by the name that the driver gives it.");
    for (const PortCounts& counts : counts_.ports)
      for (const auto& [file, value] : counts.port.hw_counters)
        if (value.ok() && !named.contains(file))
          out_.sample(
              "railbed_hw_counter_total",
              {{"device", counts.device}, {"port", std::to_string(counts.port.number)}, {"counter", file}},
              *value);
  }

 private:
  const Counts& counts_;
  Exposition& out_;
};

void add_info(const NodeState& state, Exposition& out) {
  if (!state.look) return;
  out.announce("node_infiniband_info", "gauge", "What the adapter is; always 1.");
  for (const RdmaDevice& device : items(state.look->facts.rdma.devices))
    out.sample("node_infiniband_info",
               {{"board_id", device.board_id.value_or("")},
                {"device", device.name},
                {"firmware_version", device.firmware.value_or("")},
                {"hca_type", device.hca_type.value_or("")}},
               1);
}

}  // namespace

void add_ports(const NodeState& state, Exposition& out) {
  add_info(state, out);
  if (!state.counts) return;
  Ports ports(*state.counts, out);
  ports.gauge("state_id", "State of the port: 1 down, 2 init, 3 armed, 4 active.", [](const RdmaPort& port) {
    return port.state.ok() ? std::optional(state_id(*port.state)) : std::nullopt;
  });
  ports.gauge("physical_state_id",
              "State of its link: 2 polling, 3 disabled, 5 up, 6 recovering from an error.",
              [](const RdmaPort& port) {
                return port.physical_state.ok() ? std::optional(physical_state_id(*port.physical_state))
                                                : std::nullopt;
              });
  ports.gauge("rate_bytes_per_second", "What the link runs at.", [](const RdmaPort& port) {
    return port.rate.ok() ? std::optional(port.rate->bits_per_second / 8) : std::nullopt;
  });
  ports.counters(kCounters, &RdmaPort::counters);
  ports.counters(kHardware, &RdmaPort::hw_counters);
  ports.counters(kNewerHardware, &RdmaPort::hw_counters);
  ports.others();
}

}  // namespace railbed
