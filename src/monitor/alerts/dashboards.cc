#include "monitor/alerts/dashboards.h"

#include <fmt/format.h>

#include "monitor/alerts/dashboard_json.h"

namespace railbed {
namespace {

// The label matchers of a query: the whole cluster, one node of it, or the selected nodes.
constexpr std::string_view kWholeCluster = R"(cluster="$cluster")";
constexpr std::string_view kOneNode = R"(cluster="$cluster", node="$node")";
constexpr std::string_view kChosenNodes = R"(cluster="$cluster", node=~"$node")";

const DashboardVariable kClusterChoice{"cluster", "Cluster", "label_values(railbed_build_info, cluster)"};
DashboardVariable node_choice(bool several) {
  return {"node", "Node", R"(label_values(railbed_build_info{cluster="$cluster"}, node))", several};
}

// Returns a selector for `metric` with the label matchers `of` and `matchers`.
std::string series(std::string_view metric, std::string_view of, std::string_view matchers = "") {
  return fmt::format("{}{{{}{}{}}}", metric, of, matchers.empty() ? "" : ", ", matchers);
}
std::string speed_of(const std::string& counter) {
  return fmt::format("rate({}[$__rate_interval])", counter);
}
std::string speed(std::string_view metric, std::string_view of, std::string_view matchers = "") {
  return speed_of(series(metric, of, matchers));
}

DashboardPanel heading(std::string title) { return {.kind = PanelKind::kHeading, .title = std::move(title)}; }

// Panels of the cluster.

// Multiplies a port's metric by railbed_rail_info, which yields one series for each rail on the port. With
// VLANs a port may carry several rails.
std::string by_rail(const std::string& what, std::string_view of) {
  return fmt::format("{} * on (instance, device, port) group_left () {}", series("railbed_rail_info", of),
                     what);
}

std::vector<DashboardPanel> fleet_numbers() {
  const auto found = [](std::string_view status) {
    return fmt::format("sum({}) or vector(0)",
                       series("railbed_findings", kWholeCluster, fmt::format("status=\"{}\"", status)));
  };
  return {
      {.kind = PanelKind::kNumber,
       .title = "Nodes that answer",
       .description = "Nodes whose railbed monitor Prometheus could read, beside all that it knows.",
       .unit = "short",
       .queries = {{fmt::format("sum({})", series("up", kWholeCluster, R"(job="railbed")")), "answer"},
                   {fmt::format("count({})", series("up", kWholeCluster, R"(job="railbed")")), "of"}},
       .width = 5},
      {.kind = PanelKind::kNumber,
       .title = "Failures",
       .description = "Findings that fail and that no other finding explains.",
       .unit = "short",
       .queries = {{found("fail"), "failures"}},
       .width = 4,
       .thresholds = {1, 1}},
      {.kind = PanelKind::kNumber,
       .title = "Warnings",
       .description = "Findings that warn and that no other finding explains.",
       .unit = "short",
       .queries = {{found("warn"), "warnings"}},
       .width = 4,
       .thresholds = {1}},
      {.kind = PanelKind::kNumber,
       .title = "Could not look",
       .description = "What rules could not read: it is not known to be well.",
       .unit = "short",
       .queries = {{found("unknown"), "unknown"}},
       .width = 4,
       .thresholds = {1}},
      {.kind = PanelKind::kNumber,
       .title = "Alerts that fire",
       .description = "Of railbed's alerts and of any other with this cluster's label.",
       .unit = "short",
       .queries = {{fmt::format("count({}) or vector(0)",
                                series("ALERTS", kWholeCluster, R"(alertstate="firing")")),
                    "alerts"}},
       .width = 4,
       .thresholds = {1, 1}},
      {.kind = PanelKind::kNumber,
       .title = "Versions",
       .description = "Versions of railbed that the nodes run, and how many run each. There should be one.",
       .unit = "short",
       .queries = {{fmt::format("count by (version) ({})", series("railbed_build_info", kWholeCluster)),
                    "{{version}}"}},
       .width = 3}};
}

std::vector<DashboardPanel> fleet_lines() {
  return {
      {.title = "Received over each rail",
       .description = "What all nodes together receive by RDMA on a rail, below what its ports could carry.",
       .unit = "Bps",
       .queries = {{fmt::format(
                        "sum by (rail) ({})",
                        by_rail(speed("node_infiniband_port_data_received_bytes_total", kWholeCluster),
                                kWholeCluster)),
                    "{{rail}}"},
                   {fmt::format("sum by (rail) ({})",
                                by_rail(series("railbed_port_rate_expected_bytes_per_second", kWholeCluster),
                                        kWholeCluster)),
                    "{{rail}} ceiling"}}},
      {.title = "Measured, of the ceiling",
       .description =
           "The slowest way of each rail as railbed measured it last, as a part of the ceiling that was "
           "computed for it. Below 90 % something is lost on the way.",
       .unit = "percentunit",
       .queries = {{fmt::format("min by (rail, operation) ({} / {})",
                                series("railbed_measured_bytes_per_second", kWholeCluster),
                                series("railbed_ceiling_bytes_per_second", kWholeCluster)),
                    "{{rail}} {{operation}}"},
                   {"vector(1)", "ceiling"}}},
      {.title = "Findings over time",
       .description = "How many there are of each kind.",
       .unit = "short",
       .queries = {{fmt::format("sum by (status) ({})", series("railbed_findings", kWholeCluster)),
                    "{{status}}"}}},
      {.title = "Nodes that are told to slow down",
       .description =
           "The ten nodes that handle the most congestion notifications: what they send meets a queue.",
       .unit = "pps",
       .queries = {{fmt::format("topk(10, sum by (node) ({}))",
                                speed("node_infiniband_rp_cnp_packets_handled_total", kWholeCluster)),
                    "{{node}}"}}},
      {.title = "Packets lost or out of order",
       .description =
           "The ten nodes that count the most, each second. In a lossless class there should be none.",
       .unit = "pps",
       .queries = {{fmt::format(
                        "topk(10, sum by (node) ({} + {}))",
                        speed("node_infiniband_out_of_sequence_packets_received_total", kWholeCluster),
                        speed("node_infiniband_packet_sequence_errors_total", kWholeCluster)),
                    "{{node}}"}}},
      {.title = "Pauses sent",
       .description =
           "The part of the time for which nodes stop their peers, the ten worst. Such a host does not "
           "take its data: PCIe, IOMMU, a stuck process.",
       .unit = "percentunit",
       .queries = {{fmt::format(
                        "topk(10, max by (node, device) ({}))",
                        speed("railbed_pause_seconds_total", kWholeCluster, R"(direction="transmitted")")),
                    "{{node}} {{device}}"},
                   {"vector(1)", "ceiling"}}},
      {.title = "Links lost in the last hour",
       .description = "The ten nodes that lost the most. Each loss ends every connection on the port.",
       .unit = "short",
       .queries = {{fmt::format("topk(10, sum by (node) (increase({}[1h])))",
                                series("node_infiniband_link_downed_total", kWholeCluster)),
                    "{{node}}"}}},
      {.title = "GPU utilisation",
       .description =
           "The part of the time in which a GPU ran any kernel: on average, of the idlest and of the "
           "busiest node.",
       .unit = "percent",
       .queries = {{fmt::format("avg({})", series("DCGM_FI_DEV_GPU_UTIL", kWholeCluster)), "average"},
                   {fmt::format("min(avg by (node) ({}))", series("DCGM_FI_DEV_GPU_UTIL", kWholeCluster)),
                    "idlest"},
                   {fmt::format("max(avg by (node) ({}))", series("DCGM_FI_DEV_GPU_UTIL", kWholeCluster)),
                    "busiest"},
                   {"vector(100)", "ceiling"}}},
      {.title = "Hottest GPUs",
       .description = "The hottest GPU of each of the ten hottest nodes.",
       .unit = "celsius",
       .queries = {{fmt::format("topk(10, max by (node) ({}))",
                                series("DCGM_FI_DEV_GPU_TEMP", kWholeCluster)),
                    "{{node}}"}}},
      {.title = "Power of all GPUs",
       .description = "What the GPUs of the cluster take together.",
       .unit = "watt",
       .queries = {{fmt::format("sum({})", series("DCGM_FI_DEV_POWER_USAGE", kWholeCluster)), "all GPUs"}}},
      {.title = "Age of the last look",
       .description = "How long ago the ten slowest nodes were looked at: their findings are as old.",
       .unit = "s",
       .queries = {{fmt::format("topk(10, time() - {})",
                                series("railbed_look_timestamp_seconds", kWholeCluster)),
                    "{{node}}"}}},
      {.title = "Collectors that fail",
       .description = "Their metrics are missing on so many nodes.",
       .unit = "short",
       .queries = {{fmt::format("sum by (collector) ({} == bool 0)",
                                series("railbed_collector_success", kWholeCluster)),
                    "{{collector}}"}}}};
}

std::vector<DashboardPanel> fleet_panels() {
  std::vector<DashboardPanel> panels = fleet_numbers();
  panels.push_back(
      {.kind = PanelKind::kTable,
       .title = "What is wrong",
       .description =
           "Every finding that no other one explains, and for how long it has been so. railbed explain "
           "RULE says what it means; railbed verify on the node says what was seen, and what to do.",
       .unit = "s",
       .queries = {{fmt::format("(time() - {}) * on (instance, rule, subject) group_left (status) {}",
                                series("railbed_finding_since_seconds", kWholeCluster),
                                series("railbed_finding", kWholeCluster, R"(status=~"fail|warn")"))}},
       .width = 24,
       .column = "for"});
  for (DashboardPanel& panel : fleet_lines()) panels.push_back(std::move(panel));
  return panels;
}

// Panels of one node.

// Returns a panel with one query for each (metric, legend) pair, as increments per second.
DashboardPanel counters(std::string title, std::string description,
                        std::vector<std::pair<std::string_view, std::string_view>> metrics) {
  DashboardPanel panel{.title = std::move(title), .description = std::move(description), .unit = "cps"};
  for (const auto& [metric, legend] : metrics)
    panel.queries.push_back({speed(metric, kOneNode), fmt::format("{{{{device}}}} {}", legend)});
  return panel;
}

std::vector<DashboardPanel> node_findings() {
  const auto found = [](std::string_view status) {
    return fmt::format("sum({}) or vector(0)",
                       series("railbed_findings", kOneNode, fmt::format("status=\"{}\"", status)));
  };
  return {
      {.kind = PanelKind::kNumber,
       .title = "Answers",
       .description = "1: Prometheus could read the node's railbed monitor. 0: it could not.",
       .unit = "short",
       .queries = {{series("up", kOneNode, R"(job="railbed")"), "up"}},
       .width = 4},
      {.kind = PanelKind::kNumber,
       .title = "Failures",
       .description = "Findings that fail and that no other finding explains.",
       .unit = "short",
       .queries = {{found("fail"), "failures"}},
       .width = 4,
       .thresholds = {1, 1}},
      {.kind = PanelKind::kNumber,
       .title = "Warnings",
       .description = "Findings that warn and that no other finding explains.",
       .unit = "short",
       .queries = {{found("warn"), "warnings"}},
       .width = 4,
       .thresholds = {1}},
      {.kind = PanelKind::kNumber,
       .title = "Could not look",
       .description = "What rules could not read: it is not known to be well.",
       .unit = "short",
       .queries = {{found("unknown"), "unknown"}},
       .width = 4,
       .thresholds = {1}},
      {.kind = PanelKind::kNumber,
       .title = "Last look",
       .description = "How long ago it was: findings are as old.",
       .unit = "s",
       .queries = {{fmt::format("time() - {}", series("railbed_look_timestamp_seconds", kOneNode)), "ago"}},
       .width = 4,
       .thresholds = {900, 1800}},
      {.kind = PanelKind::kNumber,
       .title = "Version",
       .description = "Of the railbed that runs there.",
       .unit = "short",
       .queries = {{series("railbed_build_info", kOneNode), "{{version}}"}},
       .width = 4},
      {.kind = PanelKind::kTable,
       .title = "What is wrong",
       .description =
           "Findings that no other one explains, what could not be looked at, and for how long it has "
           "been so. railbed explain RULE says what it means.",
       .unit = "s",
       .queries = {{fmt::format("(time() - {}) * on (instance, rule, subject) group_left (status) {}",
                                series("railbed_finding_since_seconds", kOneNode),
                                series("railbed_finding", kOneNode, R"(status=~"fail|warn|unknown")"))}},
       .width = 24,
       .column = "for"}};
}

std::vector<DashboardPanel> node_network() {
  const PanelQuery port_ceiling{series("node_infiniband_rate_bytes_per_second", kOneNode),
                                "{{device}}/{{port}} ceiling"};
  const PanelQuery interface_ceiling{series("node_network_speed_bytes", kOneNode) + " > 0",
                                     "{{device}} ceiling"};
  return {
      heading("RDMA"),
      {.title = "RDMA received",
       .description = "Bytes that arrive at each port, below the rate of its link.",
       .unit = "Bps",
       .queries = {{speed("node_infiniband_port_data_received_bytes_total", kOneNode), "{{device}}/{{port}}"},
                   port_ceiling}},
      {.title = "RDMA sent",
       .description = "Bytes that leave each port, below the rate of its link.",
       .unit = "Bps",
       .queries = {{speed("node_infiniband_port_data_transmitted_bytes_total", kOneNode),
                    "{{device}}/{{port}}"},
                   port_ceiling}},
      {.title = "Rate of the links, beside what it should be",
       .description = "A link below its dashed line is narrow or slow: cable, transceiver, the other end.",
       .unit = "Bps",
       .queries = {{series("node_infiniband_rate_bytes_per_second", kOneNode), "{{device}}/{{port}}"},
                   {series("railbed_port_rate_expected_bytes_per_second", kOneNode),
                    "{{device}}/{{port}} ceiling"}}},
      {.title = "State of the ports",
       .description = "4 is ACTIVE, the only one that carries data; 1 DOWN, 2 INIT, 3 ARMED.",
       .unit = "short",
       .queries = {{series("node_infiniband_state_id", kOneNode), "{{device}}/{{port}}"}}},
      counters("Congestion",
               "Marked packets that arrive and the notifications sent for them mean that others "
               "crowd this node; notifications handled mean that this node slows down.",
               {{"node_infiniband_np_ecn_marked_roce_packets_received_total", "marked packets received"},
                {"node_infiniband_np_cnp_packets_sent_total", "notifications sent"},
                {"node_infiniband_rp_cnp_packets_handled_total", "notifications handled"}}),
      counters("Losses of RDMA",
               "Packets missing or out of order, answers that did not come, packets sent again. "
               "In a lossless class there should be none.",
               {{"node_infiniband_out_of_sequence_packets_received_total", "out of sequence"},
                {"node_infiniband_packet_sequence_errors_total", "sequence errors"},
                {"node_infiniband_local_ack_timeout_errors_total", "answers missing"},
                {"node_infiniband_roce_adp_retransmits_total", "sent again"},
                {"node_infiniband_out_of_buffer_drops_total", "no buffer posted"},
                {"node_infiniband_port_discards_transmitted_total", "not sent"}}),
      counters("Errors of the links",
               "The signal: cable, transceiver, port. A sound link counts nearly none.",
               {{"node_infiniband_symbol_error_total", "symbol errors"},
                {"node_infiniband_link_error_recovery_total", "trained again"},
                {"node_infiniband_link_downed_total", "lost"},
                {"node_infiniband_port_errors_received_total", "damaged packets"},
                {"node_infiniband_local_link_integrity_errors_total", "too many errors"},
                {"node_infiniband_excessive_buffer_overrun_errors_total", "buffer overruns"}}),
      {.title = "Other counters of the adapters",
       .description = "By the kernel's own names (hw_counters); those that stand still are left out.",
       .unit = "cps",
       .queries = {{speed("railbed_hw_counter_total", kOneNode) + " > 0", "{{device}} {{counter}}"}}},
      {.title = "Waiting to send (InfiniBand)",
       .description = "Ticks in which a port had data and no credits: a slow receiver, or the routing.",
       .unit = "cps",
       .queries = {{speed("node_infiniband_port_transmit_wait_total", kOneNode), "{{device}}/{{port}}"}}},
      heading("Interfaces"),
      {.title = "Received",
       .description =
           "Bytes of the kernel's network, below the interface's speed. RDMA passes the kernel by.",
       .unit = "Bps",
       .queries = {{speed("node_network_receive_bytes_total", kOneNode), "{{device}}"}, interface_ceiling}},
      {.title = "Sent",
       .description =
           "Bytes of the kernel's network, below the interface's speed. RDMA passes the kernel by.",
       .unit = "Bps",
       .queries = {{speed("node_network_transmit_bytes_total", kOneNode), "{{device}}"}, interface_ceiling}},
      counters("Errors and losses of interfaces", "Broken frames, and frames that were thrown away.",
               {{"node_network_receive_errs_total", "errors received"},
                {"node_network_transmit_errs_total", "errors sent"},
                {"node_network_receive_drop_total", "dropped at receiving"},
                {"node_network_transmit_drop_total", "dropped at sending"},
                {"node_network_carrier_changes_total", "carrier changes"}}),
      {.title = "MTU, beside what it should be",
       .description = "An interface below its dashed line throws its peers' frames away.",
       .unit = "none",
       .queries = {{fmt::format("{} and on (instance, device) {}", series("node_network_mtu_bytes", kOneNode),
                                series("railbed_interface_mtu_expected_bytes", kOneNode)),
                    "{{device}}"},
                   {series("railbed_interface_mtu_expected_bytes", kOneNode), "{{device}} ceiling"}}},
      {.title = "Time in pause",
       .description =
           "The part of the time for which the peer stops this port (received: look at the fabric), or "
           "this port the peer (transmitted: look at this host).",
       .unit = "percentunit",
       .queries = {{speed("railbed_pause_seconds_total", kOneNode), "{{device}} {{priority}} {{direction}}"},
                   {"vector(1)", "ceiling"}}},
      {.title = "Pause frames",
       .description =
           "By priority and direction; PFC has its own priority, pauses of the whole port are all.",
       .unit = "pps",
       .queries = {{speed("railbed_pause_frames_total", kOneNode), "{{device}} {{priority}} {{direction}}"}}},
      {.title = "Thrown away, by priority",
       .description = "In the lossless priority each one is a fault of buffers or of PFC.",
       .unit = "pps",
       .queries = {{speed("railbed_priority_discards_total", kOneNode), "{{device}} {{priority}}"}}},
      {.title = "Pause storms",
       .description = "How often the adapter told that one end stopped the other for too long.",
       .unit = "cps",
       .queries = {{speed("railbed_pause_storms_total", kOneNode), "{{device}} {{direction}}"}}},
      {.title = "Round trips of probes",
       .description =
           "Medians of the last probes over each rail, beside the least that an RDMA read can take. Needs "
           "railbed monitor --probe.",
       .unit = "s",
       .queries = {{series("railbed_probe_latest_round_trip_seconds", kOneNode),
                    "{{rail}} {{peer}} {{transport}}"},
                   {series("railbed_probe_floor_seconds", kOneNode), "{{rail}} ceiling"}}},
      {.title = "Messages of probes that were lost",
       .description = "Of a rail that is sound none is.",
       .unit = "pps",
       .queries = {{speed("railbed_probe_messages_lost_total", kOneNode),
                    "{{rail}} {{peer}} {{transport}}"}}},
      {.title = "Cables and modules",
       .description =
           "What the physical layer counts: corrected bits are usual, what grows beyond them is a cable "
           "that is going.",
       .unit = "cps",
       .queries = {{speed("railbed_phy_counter_total", kOneNode), "{{device}} {{counter}}"}}},
      {.title = "Temperature of the modules",
       .description = "Most are specified up to 70 °C; their own alarm stands beside the findings.",
       .unit = "celsius",
       .queries = {{series("railbed_optics_celsius", kOneNode), "{{device}}"}}}};
}

std::vector<DashboardPanel> node_machine() {
  return {
      heading("GPUs"),
      {.title = "GPU utilisation",
       .description = "The part of the time in which each GPU ran any kernel.",
       .unit = "percent",
       .queries = {{series("DCGM_FI_DEV_GPU_UTIL", kOneNode), "GPU {{gpu}}"}, {"vector(100)", "ceiling"}}},
      {.title = "GPU temperature",
       .description = "Of the chips; their memory is on the page of the GPUs.",
       .unit = "celsius",
       .queries = {{series("DCGM_FI_DEV_GPU_TEMP", kOneNode), "GPU {{gpu}}"}}},
      heading("Machine"),
      {.title = "Temperatures by the BMC",
       .description = "Where the node's BMC is asked.",
       .unit = "celsius",
       .queries = {{series("ipmi_temperature_celsius", kOneNode), "{{name}}"}}},
      {.title = "Fans",
       .description = "A fan that slows down or stops is followed by heat.",
       .unit = "rotrpm",
       .queries = {{series("ipmi_fan_speed_rpm", kOneNode), "{{name}}"}}},
      {.title = "Sensors out of range",
       .description = "By the BMC's own thresholds: 0 nominal, 1 warning, 2 critical.",
       .unit = "short",
       .queries = {{fmt::format("max by (type) ({})", series("ipmi_sensor_state", kOneNode)), "{{type}}"}}},
      {.title = "Events of the kernel's log",
       .description = "What railbed knows of it, by kind, in the last hour.",
       .unit = "short",
       .queries = {{fmt::format("sum by (kind) (increase({}[1h]))",
                                series("railbed_kernel_log_events_total", kOneNode)),
                    "{{kind}}"}}},
      heading("The watch itself"),
      {.title = "Time that collectors take",
       .description = "One that grows is a device that answers slowly.",
       .unit = "s",
       .queries = {{series("railbed_collector_duration_seconds", kOneNode), "{{collector}}"},
                   {series("railbed_look_duration_seconds", kOneNode), "a whole look"}}},
      {.title = "Collectors",
       .description = "1: it could read. 0: its metrics are missing.",
       .unit = "short",
       .queries = {{series("railbed_collector_success", kOneNode), "{{collector}}"}}},
      {.title = "Findings that came and went",
       .description = "Events in the last hour, by kind.",
       .unit = "short",
       .queries = {{fmt::format("sum by (kind) (increase({}[1h]))", series("railbed_events_total", kOneNode)),
                    "{{kind}}"}}}};
}

std::vector<DashboardPanel> node_panels() {
  std::vector<DashboardPanel> panels = node_findings();
  for (const auto& part : {node_network(), node_machine()})
    panels.insert(panels.end(), part.begin(), part.end());
  return panels;
}

// Panels of one rail.

constexpr std::string_view kOneRail = R"(cluster="$cluster", rail="$rail")";

std::string on_rail(const std::string& what) { return by_rail(what, kOneRail); }
// Joins an interface's metric with its rail. Such a metric has no RDMA device, so the join uses the name of
// the interface.
std::string on_rail_interface(const std::string& what) {
  return fmt::format(
      R"PQL({} * on (instance, device) group_left () label_replace({}, "device", "$1", "interface", "(.*)"))PQL",
      what, series("railbed_rail_info", kOneRail));
}

std::vector<DashboardPanel> rail_panels() {
  const PanelQuery ceiling{
      fmt::format("max({})", on_rail(series("railbed_port_rate_expected_bytes_per_second", kWholeCluster))),
      "ceiling"};
  return {
      {.kind = PanelKind::kNumber,
       .title = "Ports",
       .description = "Ports of the rail that are ACTIVE, beside all of it.",
       .unit = "short",
       .queries = {{fmt::format("sum({})",
                                on_rail(fmt::format("({} == bool 4)",
                                                    series("node_infiniband_state_id", kWholeCluster)))),
                    "active"},
                   {fmt::format("count({})", series("railbed_rail_info", kOneRail)), "of"}},
       .width = 8},
      {.kind = PanelKind::kNumber,
       .title = "Slowest link",
       .description = "The lowest rate of a link on this rail, as a part of what it should be.",
       .unit = "percentunit",
       .queries = {{fmt::format(
                        "min({})",
                        on_rail(fmt::format(
                            "({} / {})", series("node_infiniband_rate_bytes_per_second", kWholeCluster),
                            series("railbed_port_rate_expected_bytes_per_second", kWholeCluster)))),
                    "of its rate"}},
       .width = 8},
      {.kind = PanelKind::kNumber,
       .title = "Slowest way",
       .description = "The lowest bandwidth that was measured on this rail, as a part of its ceiling.",
       .unit = "percentunit",
       .queries = {{fmt::format("min({} / {})", series("railbed_measured_bytes_per_second", kOneRail),
                                series("railbed_ceiling_bytes_per_second", kOneRail)),
                    "of its ceiling"}},
       .width = 8},
      {.title = "Received by each node",
       .description =
           "By RDMA on this rail, below the rate that its ports should have. Nodes of one job are alike; "
           "one that is not is the slow one, or it waits for it.",
       .unit = "Bps",
       .queries = {{on_rail(speed("node_infiniband_port_data_received_bytes_total", kWholeCluster)),
                    "{{node}}"},
                   ceiling}},
      {.title = "Sent by each node",
       .description = "By RDMA on this rail, below the rate that its ports should have.",
       .unit = "Bps",
       .queries = {{on_rail(speed("node_infiniband_port_data_transmitted_bytes_total", kWholeCluster)),
                    "{{node}}"},
                   ceiling}},
      {.title = "Measured",
       .description =
           "What railbed measured last from each node to its peer, below the ceilings computed for it.",
       .unit = "Bps",
       .queries = {{series("railbed_measured_bytes_per_second", kOneRail),
                    "{{node}} to {{peer}} {{operation}}"},
                   {series("railbed_ceiling_bytes_per_second", kOneRail),
                    "{{node}} to {{peer}} {{operation}} ceiling"}}},
      {.title = "Age of the measurements",
       .description = "How long ago each way was measured.",
       .unit = "s",
       .queries = {{fmt::format("time() - {}", series("railbed_measured_timestamp_seconds", kOneRail)),
                    "{{node}} to {{peer}} {{operation}}"}}},
      {.title = "State of the ports",
       .description = "4 is ACTIVE, the only one that carries data; 1 DOWN, 2 INIT, 3 ARMED.",
       .unit = "short",
       .queries = {{on_rail(series("node_infiniband_state_id", kWholeCluster)), "{{node}}"}}},
      {.title = "Told to slow down",
       .description = "Congestion notifications that each node handles: what it sends meets a queue.",
       .unit = "pps",
       .queries = {{on_rail(speed("node_infiniband_rp_cnp_packets_handled_total", kWholeCluster)),
                    "{{node}}"}}},
      {.title = "Crowded",
       .description = "Marked packets that arrive at each node: several send to it at once.",
       .unit = "pps",
       .queries = {{on_rail(
                        speed("node_infiniband_np_ecn_marked_roce_packets_received_total", kWholeCluster)),
                    "{{node}}"}}},
      {.title = "Lost or out of order",
       .description = "In a lossless class there should be none.",
       .unit = "pps",
       .queries = {{on_rail(fmt::format(
                        "({} + {})",
                        speed("node_infiniband_out_of_sequence_packets_received_total", kWholeCluster),
                        speed("node_infiniband_packet_sequence_errors_total", kWholeCluster))),
                    "{{node}}"}}},
      {.title = "Time in pause",
       .description = "Received: the fabric stops the node. Transmitted: the node stops the fabric.",
       .unit = "percentunit",
       .queries = {{on_rail_interface(fmt::format("sum by (cluster, node, instance, device, direction) ({})",
                                                  speed("railbed_pause_seconds_total", kWholeCluster))),
                    "{{node}} {{direction}}"},
                   {"vector(1)", "ceiling"}}},
      {.title = "Errors of the links",
       .description = "Symbol errors and links trained again: cable, transceiver, port.",
       .unit = "cps",
       .queries = {{on_rail(speed("node_infiniband_symbol_error_total", kWholeCluster)),
                    "{{node}} symbol errors"},
                   {on_rail(speed("node_infiniband_link_error_recovery_total", kWholeCluster)),
                    "{{node}} trained again"}}},
      {.title = "Modules",
       .description = "Temperatures of the transceivers on this rail; most are specified up to 70 °C.",
       .unit = "celsius",
       .queries = {{on_rail_interface(series("railbed_optics_celsius", kWholeCluster)), "{{node}}"}}},
      {.title = "MTU",
       .description = "All interfaces of a rail and its switch should have the same MTU.",
       .unit = "none",
       .queries = {{on_rail_interface(series("node_network_mtu_bytes", kWholeCluster)), "{{node}}"},
                   {fmt::format("max({})", on_rail_interface(series("railbed_interface_mtu_expected_bytes",
                                                                    kWholeCluster))),
                    "ceiling"}}}};
}

// Panels of the GPUs of the selected nodes.

DashboardPanel of_gpus(std::string title, std::string description, std::string unit, std::string_view metric,
                       int width = 12) {
  return {.title = std::move(title),
          .description = std::move(description),
          .unit = std::move(unit),
          .queries = {{series(metric, kChosenNodes), "{{node}} {{gpu}}"}},
          .width = width};
}

std::vector<DashboardPanel> gpu_panels() {
  DashboardPanel utilisation = of_gpus("Utilisation", "The part of the time in which the GPU ran any kernel.",
                                       "percent", "DCGM_FI_DEV_GPU_UTIL");
  utilisation.queries.push_back({"vector(100)", "ceiling"});
  return {
      utilisation,
      of_gpus("Power", "A GPU that takes much less than its neighbours in one job is held down, or waits.",
              "watt", "DCGM_FI_DEV_POWER_USAGE"),
      of_gpus("Temperature", "Of the chip. Clocks fall somewhere above 85 °C, by the model.", "celsius",
              "DCGM_FI_DEV_GPU_TEMP"),
      of_gpus("Temperature of the memory", "High bandwidth memory is specified up to about 95 °C.", "celsius",
              "DCGM_FI_DEV_MEMORY_TEMP"),
      of_gpus("Fan", "What the driver asks of the GPU's own fan. Boards without one report nothing, or 0.",
              "percent", "DCGM_FI_DEV_FAN_SPEED"),
      of_gpus("Clock of the processors",
              "One that is lower than its neighbours' under the same load is held down.", "rotmhz",
              "DCGM_FI_DEV_SM_CLOCK"),
      of_gpus("Clock of the memory", "It has few steps, and under load the highest.", "rotmhz",
              "DCGM_FI_DEV_MEM_CLOCK"),
      {.title = "Memory in use",
       .description = "Below all that each GPU has.",
       .unit = "mbytes",
       .queries = {{series("DCGM_FI_DEV_FB_USED", kChosenNodes), "{{node}} {{gpu}}"},
                   {fmt::format("max({})", series("DCGM_FI_DEV_FB_TOTAL", kChosenNodes)), "ceiling"}}},
      {.title = "Xid since the boot",
       .description =
           "What the driver told in the kernel's log, by number: railbed explain xid 79 says what it means.",
       .unit = "short",
       .queries = {{fmt::format("sum by (node, pci_bus_id, xid) ({})",
                                series("railbed_xid_total", kChosenNodes)),
                    "{{node}} {{pci_bus_id}} Xid {{xid}}"}}},
      {.title = "Memory errors that could not be corrected",
       .description = "Double bit errors since the driver was loaded. The GPU has to be reset.",
       .unit = "short",
       .queries = {{series("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", kChosenNodes), "{{node}} {{gpu}}"}}},
      {.title = "Memory errors over the GPU's life",
       .description = "Double bit errors in all; many of them on one GPU are a reason to have it replaced.",
       .unit = "short",
       .queries = {{series("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", kChosenNodes), "{{node}} {{gpu}}"}}},
      {.title = "Memory errors that were corrected",
       .description = "Single bit errors a second. A few are usual.",
       .unit = "cps",
       .queries = {{speed("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", kChosenNodes), "{{node}} {{gpu}}"}}},
      {.title = "Rows of memory that were remapped",
       .description =
           "After uncorrectable and after corrected errors; 512 is NVIDIA's limit for a replacement.",
       .unit = "short",
       .queries = {{series("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", kChosenNodes),
                    "{{node}} {{gpu}} uncorrectable"},
                   {series("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", kChosenNodes),
                    "{{node}} {{gpu}} correctable"},
                   {"vector(512)", "ceiling"}}},
      {.title = "Rows that could not be remapped",
       .description = "1: no spare row is left, the GPU has to be replaced.",
       .unit = "short",
       .queries = {{series("DCGM_FI_DEV_ROW_REMAP_FAILURE", kChosenNodes), "{{node}} {{gpu}}"}}},
      {.title = "PCI Express repeats",
       .description = "A bad contact, cable or retimer; from 31 a minute on it counts as one.",
       .unit = "cps",
       .queries = {{speed("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", kChosenNodes), "{{node}} {{gpu}}"}}},
      {.title = "NVLink errors",
       .description = "CRC errors a second; from 100 on the link is going.",
       .unit = "cps",
       .queries = {{speed("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", kChosenNodes),
                    "{{node}} {{gpu}}"}}},
      {.title = "Last Xid",
       .description = "The number of the last one that NVML told; 0: none.",
       .unit = "short",
       .queries = {{series("DCGM_FI_DEV_XID_ERRORS", kChosenNodes), "{{node}} {{gpu}}"}}}};
}

Dashboard rendered(DashboardPlan plan) { return {plan.uid + ".json", dashboard_json(plan)}; }

}  // namespace

std::vector<Dashboard> render_dashboards() {
  const DashboardVariable rail{"rail", "Rail",
                               R"(label_values(railbed_rail_info{cluster="$cluster"}, rail))"};
  return {rendered({"railbed-fleet",
                    "railbed: fleet",
                    "What is wrong in the whole cluster, what its rails carry, and which nodes stand out.",
                    {kClusterChoice},
                    fleet_panels()}),
          rendered({"railbed-node",
                    "railbed: node",
                    "One node: what is wrong with it, its RDMA ports, interfaces, GPUs and machine.",
                    {kClusterChoice, node_choice(false)},
                    node_panels()}),
          rendered({"railbed-rail",
                    "railbed: rail",
                    "One rail: its ports beside each other, what they carry, and what they should.",
                    {kClusterChoice, rail},
                    rail_panels()}),
          rendered({"railbed-gpu",
                    "railbed: GPUs",
                    "The GPUs of one node or of several, beside each other.",
                    {kClusterChoice, node_choice(true)},
                    gpu_panels()})};
}

}  // namespace railbed
