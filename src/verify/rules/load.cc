// Counters of the load window (railbed verify --load) and their limits. Limits are rates: a window of ten
// seconds shows errors that occur now, which a total since boot cannot show.
#include <fmt/format.h>

#include "model/link_remedy.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/load_window.h"

namespace railbed {
namespace {

void link_lost_under_load(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {port_counters,
              {limit_of("link_downed"), limit_of("local_link_integrity_errors"),
               limit_of("excessive_buffer_overrun_errors")},
              Status::kFail,
              "0",
              {"Reseat the cable, then swap it; then the port.", {"journalctl -k | grep -i 'link'"}}});
}

void symbol_errors(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {port_counters,
              {limit_of("symbol_error")},
              Status::kWarn,
              "at most 120 an hour",
              {"Clean and reseat the cable, then swap it."},
              show_errors_with});
}

void link_recovery(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {port_counters,
              {limit_of("link_error_recovery")},
              Status::kWarn,
              "at most 5 a minute",
              {"Clean and reseat the cable, then swap it."},
              show_errors_with});
}

void receive_errors_under_load(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {port_counters,
              {limit_of("port_rcv_errors")},
              Status::kFail,
              "at most 10 a second",
              {"Swap the cable; then look at the peer's port."},
              show_errors_with});
}

void ack_timeouts(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {hardware_counters,
              {limit_of("local_ack_timeout_err")},
              Status::kWarn,
              "at most 1 a second",
              {"Find the pair that times out by railbed bench pairs, then the hop between them.",
               {"rdma statistic show"}}});
}

void discards(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {port_counters,
              {limit_of("port_xmit_discards")},
              Status::kWarn,
              "at most 100 a second",
              {"Look for a congested or dead peer port behind it."},
              show_errors_with});
}

void slow_restart(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {hardware_counters,
              {limit_of("roce_slow_restart"), limit_of("roce_adp_retrans")},
              Status::kWarn,
              "at most 10 a second",
              {"Packets are lost: check PFC and ECN along the path.", {"rdma statistic show"}}});
}

std::vector<int> lossless_of(const RailEnd& end) {
  if (end.interface == nullptr || !end.interface->priorities.ok()) return {};
  return end.interface->priorities->lossless;
}

// Returns the commands that turn the reaction to congestion on. NVIDIA's driver has a switch in sysfs; the
// kernel's driver has only the firmware's setting.
std::vector<ShellCommand> react_with(const RailEnd& end) {
  const auto lossless = lossless_of(end);
  if (end.interface != nullptr && end.interface->congestion.ok())
    return {command("echo 1 > /sys/class/net/{}/ecn/roce_rp/enable/{}", end.name,
                    lossless.empty() ? 3 : lossless.front())};
  if (!end.rdma.device->pci_address.ok()) return {};
  return {command("mstconfig -d {} query | grep ROCE_CC", *end.rdma.device->pci_address)};
}

std::vector<ShellCommand> count_pauses_with(const RailEnd& end) {
  return {command("ethtool -S {} | grep pause", port_interface(end))};
}

void cnp_ignored(const Survey& survey, Judge& judge) {
  watch_ends(
      survey, judge,
      {hardware_counters,
       {limit_of("rp_cnp_ignored")},
       Status::kWarn,
       "0",
       {"Turn ECN on for the lossless priority; where the driver has no switch, in the firmware (reboot)."},
       react_with});
}

void receiver_late(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {hardware_counters,
              {limit_of("out_of_buffer"), limit_of("rnr_nak_retry_err")},
              Status::kWarn,
              "0",
              {"It is the program, not the network: it posts too few receives, or its process is starved."}});
}

void corruption(const Survey& survey, Judge& judge) {
  watch_ends(
      survey, judge,
      {hardware_counters,
       {limit_of("rx_icrc_encapsulated")},
       Status::kFail,
       "0",
       {"A switch or cable on the path changes packets: swap them one by one.", {"rdma statistic show"}}});
}

void pause_storm(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {driver_counters,
              {limit_of("tx_pause_storm_error_events"), limit_of("tx_pause_storm_warning_events")},
              Status::kFail,
              "0",
              {"Something on this host does not take its data: PCIe, IOMMU, a stuck process."},
              count_pauses_with});
}

void lossless_discards(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    const Load* load = load_of(verdict, end);
    if (load == nullptr) return;
    Watch watch{driver_counters,
                {},
                Status::kFail,
                "0",
                {"Give the lossless priority its buffer and headroom, and turn PFC on at the switch, too.",
                 show_lossless_with(node, end.name)}};
    for (const int priority : lossless_of(end))
      for (const std::string_view counter : {"discards", "buf_discard"})
        watch.limits.push_back({fmt::format("rx_prio{}_{}", priority, counter), 0,
                                "packets of the lossless priority are thrown away"});
    judge_moves(verdict, end, *load, watch);
  });
}

}  // namespace

std::span<const Rule> load_rules() {
  static const Rule kRules[] = {
      {.id = "load.link-lost",
       .title = "RDMA link holds under load",
       .why = "A link that is lost under load ends every connection on it.",
       .source = "--load: "
                 "ports/*/counters/{link_downed,local_link_integrity_errors,excessive_buffer_overrun_errors}",
       .standard = "none in the window (railbed's own)",
       .remedy = "Look at the cable, then at the port.",
       .fixture = "load-link-lost",
       .explained_by = {"load.carrier", "load.cable"},
       .check = link_lost_under_load},
      {.id = "load.symbol-errors",
       .title = "signal is clean under load",
       .why = "A weak signal costs resent packets now and the link later.",
       .source = "--load: ports/*/counters/symbol_error",
       .standard = "at most 120 an hour (InfiniBand's bit error rate of 1e-12)",
       .remedy = "Clean the cable's ends and reseat it, then swap it.",
       .fixture = "load-symbol-errors",
       .explained_by = {"load.optics", "load.cable"},
       .check = symbol_errors},
      {.id = "load.link-recovery",
       .title = "RDMA link does not retrain under load",
       .why = "Traffic stops for as long as a link retrains.",
       .source = "--load: ports/*/counters/link_error_recovery",
       .standard = "at most 5 a minute (railbed's own)",
       .remedy = "Clean the cable's ends and reseat it, then swap it.",
       .fixture = "load-link-recovery",
       .explained_by = {"load.link-lost", "load.symbol-errors", "load.optics", "load.cable"},
       .check = link_recovery},
      {.id = "load.receive-errors",
       .title = "packets arrive whole under load",
       .why = "Each damaged packet is sent again, and the connection waits for it.",
       .source = "--load: ports/*/counters/port_rcv_errors",
       .standard = "at most 10 a second (railbed's own)",
       .remedy = "Look at the cable, then at the peer's port.",
       .fixture = "load-receive-errors",
       .explained_by = {"load.symbol-errors", "load.oversize", "load.cable", "load.optics"},
       .check = receive_errors_under_load},
      {.id = "load.ack-timeouts",
       .title = "RDMA requests are answered under load",
       .why = "A request that is not answered in time is sent again; after seven of them the job ends (NCCL: "
              "error 12).",
       .source = "--load: ports/*/hw_counters/local_ack_timeout_err",
       .standard = "at most 1 a second (railbed's own)",
       .remedy = "Find the pair, then the hop.",
       .fixture = "load-ack-timeouts",
       .explained_by = {"load.link-lost", "load.carrier", "load.loss", "load.oversize"},
       .check = ack_timeouts},
      {.id = "load.discards",
       .title = "port throws nothing away under load",
       .why = "A port that cannot send drops packets after a while: something behind it is dead or full.",
       .source = "--load: ports/*/counters/port_xmit_discards",
       .standard = "at most 100 a second (railbed's own)",
       .remedy = "Look behind the port.",
       .fixture = "load-discards",
       .explained_by = {"load.link-lost", "load.carrier", "load.transmit-wait"},
       .check = discards},
      {.id = "load.slow-restart",
       .title = "RoCE does not fall back under load",
       .why = "A connection that lost packets starts again at its slowest rate.",
       .source = "--load: ports/*/hw_counters/{roce_slow_restart,roce_adp_retrans}",
       .standard = "at most 10 a second (railbed's own)",
       .remedy = "Look at PFC and ECN along the path.",
       .fixture = "load-slow-restart",
       .explained_by = {"load.loss", "load.lossless-discards", "load.ack-timeouts", "rdma.pfc"},
       .check = slow_restart},
      {.id = "load.cnp-ignored",
       .title = "adapter slows down when asked to",
       .why = "A sender that ignores congestion notifications fills the switch, and all others wait.",
       .source = "--load: ports/*/hw_counters/rp_cnp_ignored",
       .standard = "0",
       .remedy = "Switch ECN on for this adapter.",
       .fixture = "load-cnp-ignored",
       .explained_by = {"rdma.ecn"},
       .check = cnp_ignored},
      {.id = "load.receiver-late",
       .title = "programs keep up with what arrives",
       .why = "Without a posted buffer the sender has to wait and try again.",
       .source = "--load: ports/*/hw_counters/{out_of_buffer,rnr_nak_retry_err}",
       .standard = "0",
       .remedy = "Look at the program, not at the network.",
       .fixture = "load-receiver-late",
       .explained_by = {},
       .check = receiver_late},
      {.id = "load.corruption",
       .title = "packets are not changed on the way",
       .why = "The invariant checksum covers the whole way: "
              "what fails it was changed inside a switch or adapter.",
       .source = "--load: ports/*/hw_counters/rx_icrc_encapsulated",
       .standard = "0",
       .remedy = "Swap what lies on the path.",
       .fixture = "load-corruption",
       .explained_by = {"load.cable", "load.optics"},
       .check = corruption},
      {.id = "load.pause-storm",
       .title = "host does not stop its peers for long",
       .why = "A host that keeps pausing its switch port blocks everybody who shares a buffer with it.",
       .source = "--load: ethtool -S: tx_pause_storm_*_events",
       .standard = "0",
       .remedy = "Find what keeps the adapter from writing to memory.",
       .fixture = "load-pause-storm",
       .explained_by = {"load.pcie-errors", "pcie.adapter-link"},
       .check = pause_storm},
      {.id = "load.lossless-discards",
       .title = "lossless priority loses nothing",
       .why =
           "RoCE resends everything after a lost packet; the lossless priority exists so that there is none.",
       .source = "--load: ethtool -S: rx_prioN_discards of the priorities with PFC",
       .standard = "0",
       .remedy = "Look at the buffer, the headroom and PFC of this priority.",
       .fixture = "load-lossless-discards",
       .explained_by = {"rdma.pfc", "load.pcie-errors"},
       .check = lossless_discards},
  };
  return kRules;
}

}  // namespace railbed
