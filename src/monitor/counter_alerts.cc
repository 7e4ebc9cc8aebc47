// Alerts on counters, on measured values against limits, and on the watch itself.
//
// A counter that decreases (its driver was reloaded, or the node restarted) looks to a reader as if it began
// at 0, and a link that comes up counts errors that are no fault. Such a series is therefore ignored until
// the window no longer holds the reset. A new series counts from its first value. increase() and rate() do
// the latter by themselves; `unless resets(…) > 0` does the former.
//
// Each alert on a counter is silent while a finding that explains it is present, or was present within the
// window of the counter (see unless_found()). It also waits three minutes, so that the next look at the node
// can produce that finding first.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hardware/xid.h"
#include "monitor/alert_rules.h"
#include "monitor/promql.h"

namespace railbed {
namespace {

// A node is inspected every minute; Prometheus scrapes and evaluates rules every half minute. After three
// minutes, the finding that explains the growth of the counter is present and silences the alert.
constexpr std::string_view kUntilNextLook = "3m";
constexpr int kLosslessUnlessSaid = 3;  // the priority that RoCE guides recommend
constexpr std::string_view kOnPort = "{{ $labels.node }}, {{ $labels.device }} port {{ $labels.port }}";
constexpr std::string_view kOnDevice = "{{ $labels.node }}, {{ $labels.device }}";
constexpr std::string_view kOnGpu = "{{ $labels.node }}, GPU {{ $labels.gpu }} ({{ $labels.pci_bus_id }})";
constexpr std::string_view kTimes = "Counted in the last 10 minutes: {{ $value | humanize }}.";
constexpr std::string_view kEachSecond = "Counted each second: {{ $value | humanize }}.";

// Returns a selector for a metric of this cluster. $cluster stands for the cluster's quoted name until
// counter_alerts() replaces it.
std::string of(std::string_view metric, std::string_view matchers = "") {
  return fmt::format("{}{{cluster=$cluster{}{}}}", metric, matchers.empty() ? "" : ", ", matchers);
}

// Returns a condition: the series grew by more than `above` in ten minutes. It rounds, because increase()
// extrapolates to the ends of the window.
std::string grew(const std::string& series, int above = 0) {
  return fmt::format("round(increase({0}[10m])) > {1} unless resets({0}[10m]) > 0", series, above);
}

// Returns a condition: the series grew faster than `per_second` over the last `minutes`.
std::string faster(const std::string& series, int minutes, std::string_view per_second) {
  return fmt::format("rate({0}[{1}m]) > {2} unless resets({0}[{1}m]) > 0", series, minutes, per_second);
}

// Returns a selector for an adapter's counter for which node_exporter has no name.
std::string counter(std::string_view name) {
  return of("railbed_hw_counter_total", fmt::format("counter=\"{}\"", name));
}

std::string on_port(std::string_view words) { return fmt::format("{}: {}", kOnPort, words); }
std::string on_device(std::string_view words) { return fmt::format("{}: {}", kOnDevice, words); }
std::string on_gpu(std::string_view words) { return fmt::format("{}: {}", kOnGpu, words); }
std::string with(std::string_view words, std::string_view value) {
  return fmt::format("{} {}", words, value);
}

std::vector<AlertRule> link_alerts() {
  const std::string group = "railbed links";
  const std::vector<std::string_view> down = {"load.carrier",        "load.cable",  "rdma.link-lost",
                                              "rdma.port-state",     "net.carrier", "net.flaps",
                                              "rdma.cable-unplugged"};
  const std::vector<std::string_view> signal = {"load.cable", "load.optics", "rdma.signal-quality"};
  return {
      {.group = group,
       .name = "RailbedPortNotActive",
       .finding = "rdma.port-state",
       .silenced = {"net.admin-up", "net.carrier", "rdma.physical-state", "rdma.subnet-manager"},
       .severity = "critical",
       .expression = fmt::format("{} != 4 and on (instance, device, port) {}", of("node_infiniband_state_id"),
                                 of("railbed_rail_info")),
       .wait = "1m",
       .summary = on_port("the RDMA port of a rail is not ACTIVE"),
       .description = "Only an ACTIVE port carries data. Its state (1 DOWN, 2 INIT, 3 ARMED): {{ $value }}.",
       .remedy = "Mend the link first: cable, transceiver, the port at the other end. On InfiniBand then "
                 "look at the subnet manager."},
      {.group = group,
       .name = "RailbedPortRateLow",
       .finding = "rdma.rate",
       .silenced = {"net.speed", "rdma.width", "rdma.port-state", "net.carrier"},
       .severity = "critical",
       .expression =
           fmt::format("{} < {} and {} == 4", of("node_infiniband_rate_bytes_per_second"),
                       of("railbed_port_rate_expected_bytes_per_second"), of("node_infiniband_state_id")),
       .wait = "2m",
       .summary = on_port("the link runs below its rate"),
       .description = "A narrow or slow link works and silently costs bandwidth. It runs at "
                      "{{ $value | humanize }} bytes a second.",
       .remedy = "Try another cable; then look at the slower end, its firmware and its settings."},
      {.group = group,
       .name = "RailbedInterfaceMtuLow",
       .finding = "net.mtu",
       .silenced = {"net.vlan-mtu", "net.interface", "net.mtu-equal"},
       .severity = "critical",
       .expression =
           fmt::format("{} < {}", of("node_network_mtu_bytes"), of("railbed_interface_mtu_expected_bytes")),
       .wait = "2m",
       .summary = on_device("the interface's MTU is below the rail's"),
       .description =
           "It throws away the larger frames that its peers send, and RDMA packets are smaller than "
           "they could be. Its MTU: {{ $value }}.",
       .remedy = "Run ip link set mtu, and mend the file that keeps it: railbed plan."},
      {.group = group,
       .name = "RailbedPortLinkDowned",
       .finding = "load.link-lost",
       .silenced = down,
       .severity = "critical",
       .expression = grew(of("node_infiniband_link_downed_total")),
       .looks_back = 10,
       .summary = on_port("the link was lost"),
       .description = with("Each loss ends every connection on the port.", kTimes),
       .remedy =
           "If nobody moved the cable, read journalctl -k, reseat the cable, then swap it, then the port."},
      {.group = group,
       .name = "RailbedPortIntegrityErrors",
       .finding = "load.link-lost",
       .silenced = down,
       .severity = "critical",
       .expression = grew(of("node_infiniband_local_link_integrity_errors_total")),
       .looks_back = 10,
       .summary = on_port("errors come faster than the link may correct"),
       .description =
           with("The link is about to be taken down (InfiniBand's LocalLinkIntegrityErrors).", kTimes),
       .remedy = "Clean and reseat the cable, then swap it; then the port."},
      {.group = group,
       .name = "RailbedPortBufferOverruns",
       .finding = "load.link-lost",
       .silenced = {"rdma.buffer-overrun"},
       .severity = "critical",
       .expression = grew(of("node_infiniband_excessive_buffer_overrun_errors_total")),
       .looks_back = 10,
       .summary = on_port("flow control is broken"),
       .description =
           with("The peer sends though this port has no room (ExcessiveBufferOverrunErrors).", kTimes),
       .remedy = "Look at flow control and firmware of both ends."},
      {.group = group,
       .name = "RailbedPortSymbolErrors",
       .finding = "load.symbol-errors",
       .silenced = signal,
       .severity = "warning",
       .expression = faster(of("node_infiniband_symbol_error_total"), 15, "120 / 3600"),
       .looks_back = 15,
       .summary = on_port("the signal is weak"),
       .description =
           with("More than 120 symbol errors an hour are more than one bit in 10^12.", kEachSecond),
       .remedy = "Clean and reseat the cable, then swap it."},
      {.group = group,
       .name = "RailbedPortLinkRecovery",
       .finding = "load.link-recovery",
       .silenced = {"load.link-lost", "load.symbol-errors", "load.cable", "load.optics", "rdma.link-lost"},
       .severity = "warning",
       .expression = faster(of("node_infiniband_link_error_recovery_total"), 5, "5 / 60"),
       .looks_back = 5,
       .summary = on_port("the link trains again and again"),
       .description = with("While it trains it carries nothing; more than 5 times a minute.", kEachSecond),
       .remedy = "Clean and reseat the cable, then swap it."},
      {.group = group,
       .name = "RailbedPortReceiveErrors",
       .finding = "load.receive-errors",
       .silenced = {"load.symbol-errors", "load.oversize", "load.cable", "load.optics",
                    "rdma.damaged-packets"},
       .severity = "critical",
       .expression = faster(of("node_infiniband_port_errors_received_total"), 5, "10"),
       .looks_back = 5,
       .summary = on_port("damaged packets arrive"),
       .description = with("More than 10 a second.", kEachSecond),
       .remedy = "Swap the cable; then look at the peer's port."},
      {.group = group,
       .name = "RailbedCarrierChanges",
       .finding = "load.carrier",
       .silenced = {"load.cable", "load.optics", "net.flaps", "net.carrier", "net.link-flaps-log"},
       .severity = "critical",
       .expression = fmt::format(
           R"PQL(({}) and on (instance, device) label_replace({}, "device", "$1", "interface", "(.*)"))PQL",
           grew(of("node_network_carrier_changes_total"), 2), of("railbed_rail_info")),
       .looks_back = 10,
       .summary = on_device("the link of a rail comes and goes"),
       .description = with("Every loss and return is a change; two of them are one flap.", kTimes),
       .remedy = "Clean, reseat and swap the cable; then the peer's port."},
      {.group = group,
       .name = "RailbedCableErrors",
       .finding = "load.cable",
       .silenced = {"load.optics", "load.link-lost", "net.receive-errors"},
       .severity = "warning",
       .expression = grew(
           of("railbed_phy_counter_total",
              R"(counter=~"rx_pcs_symbol_err_phy|rx_crc_errors_phy|link_down_events_phy|module_high_temp")")),
       .looks_back = 10,
       .summary = on_device("the cable or module is failing ({{ $labels.counter }})"),
       .description = with(
           "Errors that forward error correction could not mend, or events that took the link down.", kTimes),
       .remedy = "Clean both ends, reseat, then swap the cable."},
      {.group = group,
       .name = "RailbedOpticsAlarm",
       .finding = "load.optics",
       .silenced = {"rdma.adapter-hot"},
       .severity = "critical",
       .expression = of("railbed_optics_alarm") + " == 1",
       .wait = "1m",
       .summary = on_device("the transceiver raises the alarm {{ $labels.alarm }}"),
       .description =
           "A module that is too hot or sees too little light makes errors first and goes dark later.",
       .remedy = "Clean both ends of the fibre and check the air flow; then swap the module."}};
}

std::vector<AlertRule> transport_alerts(int lossless) {
  const std::string group = "railbed transport";
  const std::string packets = of("node_infiniband_port_packets_received_total");
  return {
      {.group = group,
       .name = "RailbedPacketLoss",
       .finding = "load.loss",
       .silenced = {"load.link-lost", "load.carrier", "load.lossless-discards", "load.corruption",
                    "load.cable", "rdma.pfc", "rdma.trust-dscp", "rdma.packet-loss"},
       .severity = "{{ if gt $value 0.0001 }}critical{{ else }}warning{{ end }}",
       .expression =
           fmt::format("(rate({}[5m]) + rate({}[5m])) / (rate({}[5m]) > 1000) > 1e-6 unless "
                       "resets({}[5m]) > 0",
                       of("node_infiniband_packet_sequence_errors_total"),
                       of("node_infiniband_out_of_sequence_packets_received_total"), packets, packets),
       .looks_back = 5,
       .summary = on_port("RDMA loses packets"),
       .description = "More than one in a million is lost or out of order. Their share: {{ $value }}.",
       .remedy = "Check PFC and ECN of this priority on every hop of the path; then cables."},
      {.group = group,
       .name = "RailbedAckTimeouts",
       .finding = "load.ack-timeouts",
       .silenced = {"load.link-lost", "load.carrier", "load.loss", "load.oversize", "rdma.packet-loss"},
       .severity = "warning",
       .expression = faster(of("node_infiniband_local_ack_timeout_errors_total"), 5, "1"),
       .looks_back = 5,
       .summary = on_port("RDMA requests are not answered"),
       .description = with("A black hole, a link that flaps, or a dead peer.", kEachSecond),
       .remedy = "Find the pair that times out by railbed bench pairs, then the hop between them."},
      {.group = group,
       .name = "RailbedTransmitDiscards",
       .finding = "load.discards",
       .silenced = {"load.link-lost", "load.carrier", "load.transmit-wait", "rdma.port-state"},
       .severity = "warning",
       .expression = faster(of("node_infiniband_port_discards_transmitted_total"), 5, "100"),
       .looks_back = 5,
       .summary = on_port("the port throws packets away that it cannot send"),
       .description = with("More than 100 a second.", kEachSecond),
       .remedy = "Look for a congested or dead peer port behind it."},
      {.group = group,
       .name = "RailbedRoceSlowRestart",
       .finding = "load.slow-restart",
       .silenced = {"load.loss", "load.lossless-discards", "load.ack-timeouts", "rdma.pfc"},
       .severity = "warning",
       .expression = faster(counter("roce_slow_restart"), 5, "10"),
       .looks_back = 5,
       .summary = on_port("connections fall back to their slowest rate"),
       .description = with("They do so when packets are lost.", kEachSecond),
       .remedy = "Check PFC and ECN along the path."},
      {.group = group,
       .name = "RailbedRoceRetransmits",
       .finding = "load.slow-restart",
       .silenced = {"load.loss", "load.lossless-discards", "load.ack-timeouts", "rdma.pfc"},
       .severity = "warning",
       .expression = faster(of("node_infiniband_roce_adp_retransmits_total"), 5, "10"),
       .looks_back = 5,
       .summary = on_port("RoCE sends packets again all the time"),
       .description = with("Adaptive retransmission does so when packets are lost.", kEachSecond),
       .remedy = "Check PFC and ECN along the path."},
      {.group = group,
       .name = "RailbedCnpIgnored",
       .finding = "load.cnp-ignored",
       .silenced = {"rdma.ecn"},
       .severity = "warning",
       .expression = grew(counter("rp_cnp_ignored")),
       .looks_back = 10,
       .summary = on_port("the peer asks to slow down and is ignored"),
       .description = with("ECN is off on this adapter: it drives others into congestion.", kTimes),
       .remedy = "Turn ECN on for the lossless priority; where the driver has no switch, in the firmware."},
      {.group = group,
       .name = "RailbedPacketsCorrupted",
       .finding = "load.corruption",
       .silenced = {"load.cable", "load.optics", "rdma.damaged-packets"},
       .severity = "critical",
       .expression = grew(counter("rx_icrc_encapsulated")),
       .looks_back = 10,
       .summary = on_port("packets are changed between the two adapters"),
       .description = with("Their checksum from end to end is wrong (ICRC).", kTimes),
       .remedy = "A switch or cable on the path changes packets: swap them one by one."},
      {.group = group,
       .name = "RailbedPauseStorm",
       .finding = "load.pause-storm",
       .silenced = {"load.pcie-errors", "pcie.adapter-link"},
       .severity = "critical",
       .expression = grew(of("railbed_pause_storms_total")),
       .looks_back = 10,
       .summary = on_device("a pause storm ({{ $labels.direction }})"),
       .description = with("One end stopped the other for so long that the adapter reported it.", kTimes),
       .remedy = "Something on the host that sends the pauses does not take its data: PCIe, IOMMU, a stuck "
                 "process."},
      {.group = group,
       .name = "RailbedLosslessDiscards",
       .finding = "load.lossless-discards",
       .silenced = {"rdma.pfc", "load.pcie-errors"},
       .severity = "critical",
       .expression = grew(of("railbed_priority_discards_total", fmt::format("priority=\"{}\"", lossless))),
       .looks_back = 10,
       .summary = on_device("the lossless priority {{ $labels.priority }} loses packets"),
       .description = with("PFC should stop the sender before there is no room.", kTimes),
       .remedy = "Give the priority its buffer and headroom, and turn PFC on at the switch, too."},
      {.group = group,
       .name = "RailbedOversizeFrames",
       .finding = "load.oversize",
       .silenced = {"net.mtu", "net.mtu-equal"},
       .severity = "critical",
       .expression = grew(of("railbed_phy_counter_total", R"(counter="rx_oversize_pkts_phy")")),
       .looks_back = 10,
       .summary = on_device("a peer sends larger frames than fit"),
       .description = with("They are thrown away: the peer's MTU is larger.", kTimes),
       .remedy = "One MTU on both ends and the switch."}};
}

// Returns a pattern of all Xid numbers in the table with one of these actions: "46|48|62".
std::string xid_pattern(std::initializer_list<XidAction> actions) {
  std::vector<int> numbers;
  for (const Xid& xid : xids())
    if (std::ranges::find(actions, xid.action) != actions.end())
      for (int number = xid.first; number <= xid.last; ++number) numbers.push_back(number);
  return fmt::format("{}", fmt::join(numbers, "|"));
}

// Returns the alert for new Xids that match. The first Xid creates its series with the value 1, which
// increase() misses; the second part of the expression counts it if the node was scraped throughout the last
// ten minutes.
AlertRule xid_alert(std::string_view name, std::string_view finding, std::string_view severity,
                    const std::string& matcher, std::string_view summary, std::string_view remedy) {
  const std::string xid = of("railbed_xid_total", matcher);
  const std::string up = of("up", R"(job="railbed")");
  return {.group = "railbed gpus",
          .name = std::string(name),
          .finding = std::string(finding),
          .severity = std::string(severity),
          .expression = fmt::format("({}) or ({} unless {} offset 10m) and on (job, instance) "
                                    "(min_over_time({}[10m]) == 1 and {} offset 10m == 1)",
                                    grew(xid), xid, xid, up, up),
          .looks_back = 10,
          .summary = fmt::format("{{{{ $labels.node }}}}, GPU {{{{ $labels.pci_bus_id }}}}: Xid "
                                 "{{{{ $labels.xid }}}}: {}",
                                 summary),
          .description = with("NVIDIA's driver wrote this to the kernel log.", kTimes),
          .remedy = with(remedy, "What it means: railbed explain xid {{ $labels.xid }}")};
}

std::vector<AlertRule> xid_alerts() {
  const auto asks = [](XidAction action) { return fmt::format("xid=~\"{}\"", xid_pattern({action})); };
  return {
      xid_alert("RailbedXidReboot", "gpu.xid-reboot", "critical", asks(XidAction::kReboot),
                "the node has to be restarted",
                "Drain the node and restart it; then look at the GPU's seat and PCIe link."),
      xid_alert("RailbedXidReset", "gpu.xid-reset", "critical", asks(XidAction::kReset),
                "the GPU has to be reset",
                "Drain, then nvidia-smi --gpu-reset; when it returns, ask the vendor."),
      xid_alert("RailbedXidIsolate", "gpu.xid-isolate", "critical", asks(XidAction::kIsolate),
                "the GPU has to be taken out",
                "Take the GPU out of use; look at its cable, then replace it."),
      xid_alert(
          "RailbedXidApplication", "gpu.xid-application", "warning",
          fmt::format("xid!~\"{}\"", xid_pattern({XidAction::kReboot, XidAction::kReset, XidAction::kIsolate,
                                                  XidAction::kInformation, XidAction::kDriverSays})),
          "a program failed on the GPU", "Ask whose job it was; look whether only one GPU shows it.")};
}

std::vector<AlertRule> gpu_alerts() {
  const std::string group = "railbed gpus";
  return {
      {.group = group,
       .name = "RailbedGpuDoubleBitErrors",
       .finding = "gpu.ecc-uncorrectable",
       .silenced = {"gpu.xid-reset", "gpu.load-ecc"},
       .severity = "critical",
       .expression = grew(of("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL")),
       .looks_back = 10,
       .summary = on_gpu("an uncorrectable memory error"),
       .description = with("The program that met it was ended; the memory is not to be trusted.", kTimes),
       .remedy = "Drain, reset the GPU; replace it if the errors come back."},
      {.group = group,
       .name = "RailbedGpuRemapFailed",
       .finding = "gpu.row-remap-failed",
       .severity = "critical",
       .expression = of("DCGM_FI_DEV_ROW_REMAP_FAILURE") + " > 0",
       .summary = on_gpu("a bad memory row could not be remapped"),
       .description = "There is no spare row left.",
       .remedy = "Take the GPU out of use and have it replaced."},
      {.group = group,
       .name = "RailbedGpuHot",
       .finding = "gpu.temperature",
       .silenced = {"gpu.slowdown", "gpu.load-temperature", "gpu.load-throttle"},
       .severity = "warning",
       .expression =
           fmt::format("{} > 85 or {} > 95", of("DCGM_FI_DEV_GPU_TEMP"), of("DCGM_FI_DEV_MEMORY_TEMP")),
       .wait = "5m",
       .summary = on_gpu("hot: {{ $value }} °C"),
       .description = "Above 85 °C (its memory: 95 °C) GPUs are close to where their clocks fall; which "
                      "temperature that is depends on the model, and gpu.temperature asks it.",
       .remedy = "Look at fans, air flow and room."},
      {.group = group,
       .name = "RailbedGpuPcieReplays",
       .finding = "gpu.load-replays",
       .silenced = {"gpu.load-pcie", "pcie.gpu-link", "pcie.aer-corrected"},
       .severity = "warning",
       .expression = faster(of("DCGM_FI_DEV_PCIE_REPLAY_COUNTER"), 10, "31 / 60"),
       .looks_back = 10,
       .summary = on_gpu("PCI Express repeats packets"),
       .description = with("A bad contact, cable or retimer; it comes before the link is lost.", kEachSecond),
       .remedy = "Reseat the GPU; then its cable and retimer."},
      {.group = group,
       .name = "RailbedGpuNvlinkErrors",
       .finding = "gpu.load-nvlink",
       .silenced = {"gpu.nvlink-count", "gpu.nvlink-recovery"},
       .severity = "warning",
       .expression = faster(of("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"), 5, "100"),
       .looks_back = 5,
       .summary = on_gpu("NVLink counts errors"),
       .description = with("More than 100 CRC errors a second.", kEachSecond),
       .remedy = "Reset all GPUs and NVSwitches; then ask the vendor for the board."}};
}

AlertRule sensor_alert() {
  return {
      .group = "railbed bmc",
      .name = "RailbedSensorOutOfRange",
      .finding = "bmc.sensors",
      .severity = "{{ if eq $value 2.0 }}critical{{ else }}warning{{ end }}",
      .expression =
          R"({__name__=~"ipmi_(sensor|temperature|fan_speed|voltage|current|power)_state", cluster=$cluster} > 0)",
      .wait = "2m",
      .summary = "{{ $labels.node }}: the BMC's sensor {{ $labels.name }} is out of range",
      .description = "By the BMC's own thresholds: 1 is a warning, 2 critical. It is {{ $value }}.",
      .remedy = "Look at fans, air flow and power supplies: railbed sensors, railbed identify."};
}

// Returns the lowest fraction of the ceiling that a node of the cluster expects. Nodes may expect different
// fractions; verify judges each by its own.
double lowest_fraction(const Cluster& cluster) {
  double lowest = 1;
  for (const Node& node : cluster.nodes) lowest = std::min(lowest, node.expect.fraction_of_ceiling);
  return cluster.nodes.empty() ? Expectations{}.fraction_of_ceiling : lowest;
}

AlertRule measured_alert(double fraction) {
  return {
      .group = "railbed measured",
      .name = "RailbedMeasuredLow",
      .finding = "measured.bandwidth",
      .silenced = {"net.speed", "rdma.rate", "net.mtu", "rdma.active-mtu", "measured.loss"},
      .severity = "critical",
      .expression = fmt::format("{} / {} < {}", of("railbed_measured_bytes_per_second"),
                                of("railbed_ceiling_bytes_per_second"), fraction),
      .summary =
          "{{ $labels.node }} to {{ $labels.peer }} over {{ $labels.rail }}: {{ $labels.operation }} is "
          "slow: {{ $value | humanizePercentage }} of its ceiling",
      .description = "The ceiling is computed for this very path; what is missing is lost somewhere on it.",
      .remedy =
          "PCIe, NUMA, counters: railbed verify on both ends; then each against other nodes: "
          "railbed bench pairs."};
}

std::vector<AlertRule> watch_alerts() {
  const std::string group = "railbed watch";
  const std::string up = of("up", R"(job="railbed")");
  return {
      {.group = group,
       .name = "RailbedExporterDown",
       .finding = "monitor.exporter-down",
       .severity = "critical",
       .expression = up + " == 0",
       .wait = "5m",
       .summary = "{{ $labels.node }}: railbed monitor does not answer",
       .description =
           "The node is down, its network is, or the exporter is not running: nothing of it is watched.",
       .remedy =
           "Is the node up, and can Prometheus reach its port? Then look whether railbed monitor runs there."},
      {.group = group,
       .name = "RailbedNoTargets",
       .finding = "monitor.no-targets",
       .severity = "critical",
       .expression = fmt::format("absent({})", up),
       .wait = "10m",
       .summary = "Prometheus watches no node of {{ $labels.cluster }}",
       .description =
           "No target has the job railbed and this cluster's label: none of these alerts can fire.",
       .remedy = "Look at the scrape configuration and at railbed.targets.json: railbed monitor files"},
      {.group = group,
       .name = "RailbedLookStale",
       .finding = "monitor.look-stale",
       .severity = "warning",
       .expression = fmt::format("time() - {} > 1800", of("railbed_look_timestamp_seconds")),
       .wait = "1m",
       .summary = "{{ $labels.node }}: the last look is old",
       .description = "Findings are as old as it is: {{ $value | humanizeDuration }}.",
       .remedy = "A device may hang: look into the log of railbed monitor; then railbed verify on the node."},
      {.group = group,
       .name = "RailbedLookFailed",
       .finding = "monitor.look-failed",
       .severity = "warning",
       .expression = of("railbed_look_success") + " == 0",
       .wait = "10m",
       .summary = "{{ $labels.node }}: railbed cannot look at the node",
       .description = "Its findings are not those of now.",
       .remedy = "The log of railbed monitor says why; then railbed verify on the node."},
      {.group = group,
       .name = "RailbedCollectorFailing",
       .finding = "monitor.collector-failing",
       .severity = "warning",
       .expression = of("railbed_collector_success") + " == 0",
       .wait = "10m",
       .summary = "{{ $labels.node }}: the collector {{ $labels.collector }} fails",
       .description = "Its metrics are missing, and their alerts cannot fire. The others are whole.",
       .remedy = "The log of railbed monitor says why."},
      {.group = group,
       .name = "RailbedCouldNotLook",
       .finding = "monitor.could-not-look",
       .severity = "warning",
       .expression = fmt::format("count by (cluster, node, instance, job) ({}) > 0",
                                 of("railbed_finding", R"(status="unknown")")),
       .wait = "30m",
       .summary = "{{ $labels.node }}: {{ $value }} rules could not look",
       .description = "What could not be looked at is not known to be well.",
       .remedy = "railbed verify on the node says what was missing: root, a library, a tool."}};
}

std::string replaced(std::string text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Returns the alert's expression with an exception: no alert where its own finding, or one that silences it,
// is present on the same node, or was present within the window of the counter. Without the window the alert
// would fire once a cable is plugged in again, because the loss of the link is still within it.
std::string unless_found(const AlertRule& alert) {
  if (alert.finding.starts_with("monitor.")) return alert.expression;
  std::vector<std::string_view> findings = {alert.finding};
  findings.insert(findings.end(), alert.silenced.begin(), alert.silenced.end());
  const std::string told =
      of("railbed_finding", fmt::format(R"(rule=~"{}", status=~"fail|warn")", fmt::join(findings, "|")));
  return fmt::format(
      "({}) unless on (instance) {}", alert.expression,
      alert.looks_back == 0 ? told : fmt::format("max_over_time({}[{}m])", told, alert.looks_back));
}

}  // namespace

std::vector<AlertRule> counter_alerts(const Cluster& cluster) {
  int lossless = kLosslessUnlessSaid;
  for (const Node& node : cluster.nodes)
    if (node.configure.pfc_priority) lossless = *node.configure.pfc_priority;
  std::vector<AlertRule> alerts = link_alerts();
  for (auto&& group : {transport_alerts(lossless),
                       xid_alerts(),
                       gpu_alerts(),
                       {sensor_alert()},
                       {measured_alert(lowest_fraction(cluster))},
                       probe_alerts(),
                       watch_alerts()})
    alerts.insert(alerts.end(), group.begin(), group.end());
  for (AlertRule& alert : alerts) {
    if (alert.looks_back != 0) alert.wait = kUntilNextLook;
    alert.expression = replaced(unless_found(alert), "$cluster", promql_quoted(cluster.name));
  }
  return alerts;
}

}  // namespace railbed
