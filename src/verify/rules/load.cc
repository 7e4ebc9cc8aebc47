// What moved during the load window (railbed verify --load). Limits are rates: a window of ten seconds says
// what a total since boot cannot, that it happens now.
#include <fmt/format.h>

#include <algorithm>

#include "verify/areas.h"
#include "verify/floor.h"
#include "verify/judge.h"

namespace railbed {
namespace {

constexpr std::string_view kNeedsLoad = "needs --load";

// The window of this end's node; null when the case has ended.
const Load* window_of(Case& one, const RailEnd& end) {
  if (!end.rdma || !end.wants_rdma()) {
    one.not_applicable("no RDMA device behind this interface");
    return nullptr;
  }
  return one.read_if_there(end.facts->load, std::string(kNeedsLoad));
}

const PortLoad* port_of(const Load& load, const RailEnd& end) {
  for (const PortLoad& port : load.ports)
    if (port.device == end.rdma.device->name && port.number == end.rdma.port->number) return &port;
  return nullptr;
}

const InterfaceLoad* interface_of(const Load& load, const RailEnd& end) {
  const auto found = std::ranges::find(load.interfaces, end.name, &InterfaceLoad::name);
  return found == load.interfaces.end() ? nullptr : &*found;
}

using PickMoves = const CounterMoves* (*)(const Load&, const RailEnd&);
const CounterMoves* port_counters(const Load& load, const RailEnd& end) {
  const PortLoad* port = port_of(load, end);
  return port == nullptr ? nullptr : &port->counters;
}
const CounterMoves* hardware_counters(const Load& load, const RailEnd& end) {
  const PortLoad* port = port_of(load, end);
  return port == nullptr ? nullptr : &port->hw_counters;
}
const CounterMoves* driver_counters(const Load& load, const RailEnd& end) {
  const InterfaceLoad* interface = interface_of(load, end);
  return interface == nullptr ? nullptr : &interface->driver;
}

struct LoadLimit {
  std::string_view name;
  double per_second;  // above it is red; 0: not once
  std::string_view means;
};

struct Watch {
  PickMoves pick;
  std::vector<LoadLimit> limits;
  Status status;
  std::string expected;
  Remedy remedy;
};

// Red when one of the counters went faster than its limit; not applicable when the port has none of them.
void judge_moves(const RailEnd& end, const Load& load, const Watch& watch, Case& one) {
  const CounterMoves* moves = watch.pick(load, end);
  std::vector<std::string> fast;
  std::vector<std::string_view> meanings;
  std::size_t counted = 0;
  for (const LoadLimit& limit : watch.limits) {
    if (moves == nullptr) break;
    const auto found = moves->find(std::string(limit.name));
    if (found == moves->end()) continue;
    ++counted;
    if (static_cast<double>(found->second) <= limit.per_second * load.seconds) continue;
    fast.push_back(fmt::format("{} {}", limit.name, found->second));
    meanings.push_back(limit.means);
  }
  if (counted == 0)
    one.not_applicable("the port has no such counter");
  else if (fast.empty())
    one.pass(fmt::format("within limits for {:.0f} s", load.seconds));
  else
    one.red(watch.status,
            {.message = fmt::format("{} of {} counted {} in {:.0f} s: {}", end.rdma_name(), *end.node,
                                    fmt::join(fast, ", "), load.seconds, fmt::join(meanings, "; ")),
             .expected = watch.expected,
             .observed = fmt::format("{} in {:.0f} s", fmt::join(fast, ", "), load.seconds),
             .remedy = watch.remedy});
}

void watch_ends(const Survey& survey, Judge& judge, const Watch& watch) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (const Load* load = window_of(one, end)) judge_moves(end, *load, watch, one);
    }
}

void link_lost_under_load(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {port_counters,
              {{"link_downed", 0, "the link was lost"},
               {"local_link_integrity_errors", 0, "errors came faster than the link may correct"},
               {"excessive_buffer_overrun_errors", 0, "flow control is broken"}},
              Status::kFail,
              "0",
              {"Reseat the cable, then swap it; then the port.", {"journalctl -k | grep -i 'link'"}}});
}

void symbol_errors(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {port_counters,
              {{"symbol_error", 120.0 / 3600, "the signal is weak"}},
              Status::kWarn,
              "at most 120 an hour",
              {"Clean and reseat the cable, then swap it.", {"ibqueryerrors"}}});
}

void link_recovery(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {port_counters,
              {{"link_error_recovery", 5.0 / 60, "the link had to retrain"}},
              Status::kWarn,
              "at most 5 a minute",
              {"Clean and reseat the cable, then swap it.", {"ibqueryerrors"}}});
}

void receive_errors_under_load(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {port_counters,
              {{"port_rcv_errors", 10, "damaged packets arrive"}},
              Status::kFail,
              "at most 10 a second",
              {"Swap the cable; then look at the peer's port.", {"perfquery -x"}}});
}

void ack_timeouts(const Survey& survey, Judge& judge) {
  watch_ends(
      survey, judge,
      {hardware_counters,
       {{"local_ack_timeout_err", 1, "answers never come: black hole, flap or dead peer"}},
       Status::kWarn,
       "at most 1 a second",
       {"Find the pair that times out (railbed bench), then the hop between.", {"rdma statistic show"}}});
}

void discards(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {port_counters,
              {{"port_xmit_discards", 100, "packets are thrown away because the port cannot send them"}},
              Status::kWarn,
              "at most 100 a second",
              {"Look for a congested or dead peer port behind it.", {"ibqueryerrors"}}});
}

void slow_restart(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {hardware_counters,
              {{"roce_slow_restart", 10, "connections fall back to their slowest rate again and again"},
               {"roce_adp_retrans", 10, "adaptive retransmission resends all the time"}},
              Status::kWarn,
              "at most 10 a second",
              {"Packets are lost: check PFC and ECN along the path.", {"rdma statistic show"}}});
}

void cnp_ignored(const Survey& survey, Judge& judge) {
  watch_ends(
      survey, judge,
      {hardware_counters,
       {{"rp_cnp_ignored", 0, "the peer asks to slow down and is ignored: ECN is off on this adapter"}},
       Status::kWarn,
       "0",
       {"Turn ECN on for the lossless priority.", {"echo 1 > /sys/class/net/IF/ecn/roce_rp/enable/3"}}});
}

void receiver_late(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {hardware_counters,
              {{"out_of_buffer", 0, "messages came and no buffer was posted"},
               {"rnr_nak_retry_err", 0, "a sender gave up waiting for a buffer"}},
              Status::kWarn,
              "0",
              {"It is the program, not the network: it posts too few receives, or its process is starved."}});
}

void corruption(const Survey& survey, Judge& judge) {
  watch_ends(
      survey, judge,
      {hardware_counters,
       {{"rx_icrc_encapsulated", 0, "packets are corrupted between the two adapters"}},
       Status::kFail,
       "0",
       {"A switch or cable on the path changes packets: swap them one by one.", {"rdma statistic show"}}});
}

void pause_storm(const Survey& survey, Judge& judge) {
  watch_ends(
      survey, judge,
      {driver_counters,
       {{"tx_pause_storm_error_events", 0, "this host stopped its peer for so long that the adapter gave up"},
        {"tx_pause_storm_warning_events", 0, "this host stops its peer for long"}},
       Status::kFail,
       "0",
       {"Something on this host does not take its data: PCIe, IOMMU, a stuck process.",
        {"ethtool -S IF | grep pause"}}});
}

void oversize(const Survey& survey, Judge& judge) {
  watch_ends(
      survey, judge,
      {driver_counters,
       {{"rx_oversize_pkts_phy", 0, "the peer sends larger frames than this port takes: its MTU is larger"}},
       Status::kFail,
       "0",
       {"Set one MTU on both ends and on the switch.", {"ip link show"}}});
}

void cable(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {driver_counters,
              {{"link_down_events_phy", 0, "the link went down"},
               {"module_high_temp", 0, "the module is too hot"},
               {"rx_pcs_symbol_err_phy", 0, "errors get past the correction"},
               {"rx_crc_errors_phy", 0, "frames arrive damaged"}},
              Status::kFail,
              "0",
              {"The cable or module is going: clean and reseat it, then swap it.", {"ethtool -m IF"}}});
}

std::vector<int> lossless_of(const RailEnd& end) {
  if (end.interface == nullptr || !end.interface->priorities.ok()) return {};
  return end.interface->priorities->lossless;
}

void lossless_discards(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      const Load* load = window_of(one, end);
      if (load == nullptr) continue;
      std::vector<std::string> names;
      for (const int priority : lossless_of(end)) {
        names.push_back(fmt::format("rx_prio{}_discards", priority));
        names.push_back(fmt::format("rx_prio{}_buf_discard", priority));
      }
      Watch watch{driver_counters,
                  {},
                  Status::kFail,
                  "0",
                  {"Give the lossless priority its buffer and headroom, and turn PFC on at the switch, too.",
                   {fmt::format("mlnx_qos -i {}", end.name)}}};
      for (const std::string& name : names)
        watch.limits.push_back({name, 0, "packets of the lossless priority are thrown away"});
      judge_moves(end, *load, watch, one);
    }
}

void carrier_under_load(const Survey& survey, Judge& judge) {
  constexpr std::uint64_t kMost = 2;
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      const Load* load = one.read_if_there(end.facts->load, std::string(kNeedsLoad));
      if (load == nullptr) continue;
      const InterfaceLoad* interface = interface_of(*load, end);
      const auto found = interface == nullptr ? CounterMoves::const_iterator{}
                                              : interface->statistics.find("carrier_changes");
      if (interface == nullptr || found == interface->statistics.end()) {
        one.not_applicable("the interface has no such counter");
        continue;
      }
      if (found->second <= kMost) {
        one.pass(std::to_string(found->second));
        continue;
      }
      one.fail(
          {.message = fmt::format("the link of {} on {} went up and down {} times in {:.0f} s", end.name,
                                  *end.node, found->second / 2, load->seconds),
           .expected = fmt::format("at most {} changes", kMost),
           .observed = std::to_string(found->second),
           .remedy = {"Reseat and then swap the cable; then the peer's port.", {"ethtool " + end.name}}});
    }
}

std::uint64_t move_of(const CounterMoves& moves, const std::string& name) {
  const auto found = moves.find(name);
  return found == moves.end() ? 0 : found->second;
}

void loss(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      const Load* load = window_of(one, end);
      if (load == nullptr) continue;
      const PortLoad* port = port_of(*load, end);
      const bool counted =
          port != nullptr && port->counters.contains("port_rcv_packets") &&
          (port->hw_counters.contains("packet_seq_err") || port->hw_counters.contains("out_of_sequence"));
      if (!counted) {
        one.not_applicable("the port does not count losses and packets");
        continue;
      }
      const std::uint64_t lost =
          move_of(port->hw_counters, "packet_seq_err") + move_of(port->hw_counters, "out_of_sequence");
      const std::uint64_t packets = std::max<std::uint64_t>(1, port->counters.at("port_rcv_packets"));
      const double ratio = static_cast<double>(lost) / static_cast<double>(packets);
      if (ratio <= kLossWarns) {
        one.pass(fmt::format("{} of {} packets", lost, packets));
        continue;
      }
      one.red(ratio > kLossFails ? Status::kFail : Status::kWarn,
              {.message = fmt::format(
                   "{} of {} saw {} packets lost or out of order in {:.0f} s, {:.2g} of those that came; "
                   "in a lossless class that means PFC is broken",
                   end.rdma_name(), *end.node, lost, load->seconds, ratio),
               .expected = fmt::format("at most {:.0e}", kLossWarns),
               .observed = fmt::format("{:.2g}", ratio),
               .remedy = {"Check PFC and ECN of this priority on every hop of the path; then cables.",
                          {"rdma statistic show"}}});
    }
}

void transmit_wait(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (!end.infiniband()) {
        one.not_applicable("not InfiniBand");
        continue;
      }
      const Load* load = window_of(one, end);
      if (load == nullptr) continue;
      const CounterMoves* moves = port_counters(*load, end);
      if (moves == nullptr || !moves->contains("port_xmit_wait") || !moves->contains("port_xmit_data")) {
        one.not_applicable("the port has no such counter");
        continue;
      }
      // Both count the time of four bytes at the port's rate (InfiniBand Architecture 16.1.4.5).
      const std::uint64_t waited = moves->at("port_xmit_wait");
      const std::uint64_t sent = moves->at("port_xmit_data");
      if (waited <= sent) {
        one.pass(fmt::format("waited {} ticks, sent for {}", waited, sent));
        continue;
      }
      one.warn(
          {.message = fmt::format("{} of {} waited for credits longer than it sent ({} against {} ticks): "
                                  "the fabric behind it is congested",
                                  end.rdma_name(), *end.node, waited, sent),
           .expected = "less waiting than sending",
           .observed = fmt::format("{} of {} ticks", waited, waited + sent),
           .remedy = {"Look for the slow receiver or the overused link; check the routing.",
                      {"ibqueryerrors", "ibdiagnet"}}});
    }
}

void pcie_errors(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    if (!node.facts->load.ok()) {
      Case one = judge.on(node, "PCIe");
      (void)one.read_if_there(node.facts->load, std::string(kNeedsLoad));
      continue;
    }
    const Load& load = *node.facts->load;
    for (const PciLoad& pci : load.pci) {
      const PciDevice* device = find_pci(node.pci(), pci.address);
      if (device == nullptr) continue;
      Case one = judge.on(node, pci.address, node.touches_of(*device));
      one.seen(node.facts->load);
      const std::uint64_t hard = move_of(pci.errors, "nonfatal") + move_of(pci.errors, "fatal");
      const std::uint64_t soft = move_of(pci.errors, "correctable");
      const bool often = static_cast<double>(soft) > load.seconds;
      if (hard == 0 && !often) {
        one.pass(fmt::format("{} corrected", soft));
        continue;
      }
      one.red(hard > 0 ? Status::kFail : Status::kWarn,
              {.message =
                   fmt::format("{} of {} reported {} PCIe errors in {:.0f} s{}", pci.address, *node.name,
                               hard > 0 ? hard : soft, load.seconds,
                               hard > 0 ? ", not corrected" : ", all corrected so far: each is sent again"),
               .expected = "none; corrected ones at most 1 a second",
               .observed = fmt::format("{} uncorrected, {} corrected", hard, soft),
               .remedy = {"Reseat the card and its riser; then its slot, its cable, its firmware.",
                          {fmt::format("grep . /sys/bus/pci/devices/{}/aer_dev_*", pci.address)}}});
    }
  }
}

void optics(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      const Load* load = window_of(one, end);
      if (load == nullptr) continue;
      const InterfaceLoad* interface = interface_of(*load, end);
      if (interface == nullptr || !interface->optics.ok()) {
        if (interface != nullptr) one.seen(interface->optics);
        one.not_applicable(interface == nullptr
                               ? "no interface to ask"
                               : describe(interface->optics.miss(), interface->optics.from()));
        continue;
      }
      const Optics& module = *interface->optics;
      one.seen(interface->optics);
      if (module.alarms.empty()) {
        one.pass(module.celsius ? fmt::format("no alarm, {:.0f} °C", *module.celsius) : "no alarm");
        continue;
      }
      const bool alarm = std::ranges::any_of(
          module.alarms, [](const std::string& each) { return each.find("alarm") != std::string::npos; });
      one.red(alarm ? Status::kFail : Status::kWarn,
              {.message = fmt::format("the module in {} of {} says: {}", end.name, *end.node,
                                      fmt::join(module.alarms, ", ")),
               .expected = "no alarm",
               .observed = fmt::format("{}", fmt::join(module.alarms, ", ")),
               .remedy = {"Clean both ends of the fibre and check the air flow; then swap the module.",
                          {"ethtool -m " + end.name}}});
    }
}

}  // namespace

std::span<const Rule> load_rules() {
  static const Rule kRules[] = {
      {.id = "load.link-lost",
       .title = "RDMA link holds under load",
       .why = "A link that goes while it is used takes every connection on it along.",
       .source = "--load: "
                 "ports/*/counters/{link_downed,local_link_integrity_errors,excessive_buffer_overrun_errors}",
       .standard = "none in the window (railbed's own)",
       .remedy = "Cable, then port.",
       .fixture = "load-link-lost",
       .explained_by = {"load.carrier", "load.cable"},
       .check = link_lost_under_load},
      {.id = "load.symbol-errors",
       .title = "signal is clean under load",
       .why = "A weak signal costs resent packets now and the link later.",
       .source = "--load: ports/*/counters/symbol_error",
       .standard = "at most 120 an hour (InfiniBand's bit error rate of 1e-12)",
       .remedy = "Clean, reseat, swap the cable.",
       .fixture = "load-symbol-errors",
       .explained_by = {"load.optics", "load.cable"},
       .check = symbol_errors},
      {.id = "load.link-recovery",
       .title = "RDMA link does not retrain under load",
       .why = "Traffic stops for as long as a link retrains.",
       .source = "--load: ports/*/counters/link_error_recovery",
       .standard = "at most 5 a minute (railbed's own)",
       .remedy = "Clean, reseat, swap the cable.",
       .fixture = "load-link-recovery",
       .explained_by = {"load.link-lost", "load.symbol-errors", "load.optics", "load.cable"},
       .check = link_recovery},
      {.id = "load.receive-errors",
       .title = "packets arrive whole under load",
       .why = "Each damaged packet is sent again, and the connection waits for it.",
       .source = "--load: ports/*/counters/port_rcv_errors",
       .standard = "at most 10 a second (railbed's own)",
       .remedy = "Cable, then the peer's port.",
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
       .remedy = "PFC and ECN along the path.",
       .fixture = "load-slow-restart",
       .explained_by = {"load.loss", "load.lossless-discards", "load.ack-timeouts", "rdma.pfc"},
       .check = slow_restart},
      {.id = "load.cnp-ignored",
       .title = "adapter slows down when asked to",
       .why = "A sender that ignores congestion notifications fills the switch, and all others wait.",
       .source = "--load: ports/*/hw_counters/rp_cnp_ignored",
       .standard = "0",
       .remedy = "ECN on this adapter.",
       .fixture = "load-cnp-ignored",
       .explained_by = {"rdma.ecn"},
       .check = cnp_ignored},
      {.id = "load.receiver-late",
       .title = "programs keep up with what arrives",
       .why = "Without a posted buffer the sender has to wait and try again.",
       .source = "--load: ports/*/hw_counters/{out_of_buffer,rnr_nak_retry_err}",
       .standard = "0",
       .remedy = "The program, not the network.",
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
       .remedy = "Buffer, headroom and PFC of this priority.",
       .fixture = "load-lossless-discards",
       .explained_by = {"rdma.pfc", "load.pcie-errors"},
       .check = lossless_discards},
      {.id = "load.carrier",
       .title = "link does not come and go under load",
       .why = "A link that flaps while it is used ends jobs.",
       .source = "--load: /sys/class/net/*/carrier_changes",
       .standard = "at most 2 changes in a window (railbed's own)",
       .remedy = "Cable, then the peer's port.",
       .fixture = "load-carrier",
       .explained_by = {"load.cable", "load.optics"},
       .check = carrier_under_load},
      {.id = "load.loss",
       .title = "RDMA loses no packets under load",
       .why = "RoCE resends from the lost packet on: one in a million is felt, one in ten thousand ruins it.",
       .source = "--load: ports/*/hw_counters/{packet_seq_err,out_of_sequence} against port_rcv_packets",
       .standard = "at most 1e-6; above 1e-4 fails (railbed's own)",
       .remedy = "PFC and ECN along the path; then cables.",
       .fixture = "load-loss",
       .explained_by = {"load.link-lost", "load.carrier", "load.lossless-discards", "load.corruption",
                        "load.cable", "rdma.pfc", "rdma.trust-dscp", "rdma.traffic-class"},
       .check = loss},
      {.id = "load.oversize",
       .title = "peers send no larger frames than fit",
       .why =
           "With a smaller MTU on one end small messages pass and large ones vanish: jobs hang, pings work.",
       .source = "--load: ethtool -S: rx_oversize_pkts_phy",
       .standard = "0",
       .remedy = "One MTU on both ends and the switch.",
       .fixture = "load-oversize",
       .explained_by = {"net.mtu", "net.mtu-equal"},
       .check = oversize},
      {.id = "load.cable",
       .title = "cable and module hold under load",
       .why = "Modules get hot and marginal cables fail when there is traffic, not when somebody looks.",
       .source = "--load: ethtool -S: link_down_events_phy, module_high_temp, rx_pcs_symbol_err_phy, "
                 "rx_crc_errors_phy",
       .standard = "0",
       .remedy = "Clean, reseat, swap.",
       .fixture = "load-cable",
       .explained_by = {"load.optics"},
       .check = cable},
      {.id = "load.transmit-wait",
       .title = "InfiniBand port does not wait for credits",
       .why =
           "A port that waits more than it sends is stopped by a slow receiver or a crowded link behind it.",
       .source = "--load: ports/*/counters/{port_xmit_wait,port_xmit_data}",
       .standard = "less waiting than sending (railbed's own)",
       .remedy = "The slow receiver, or the routing.",
       .fixture = "load-transmit-wait",
       .explained_by = {"rdma.rate", "rdma.width"},
       .check = transmit_wait},
      {.id = "load.pcie-errors",
       .title = "PCIe is clean under load",
       .why = "Errors on the way to memory cost bandwidth while they are corrected, and the device when not.",
       .source = "--load: /sys/bus/pci/devices/*/aer_dev_{correctable,nonfatal,fatal}",
       .standard = "no uncorrected one; corrected ones at most 1 a second (railbed's own)",
       .remedy = "Reseat, then slot, cable, firmware.",
       .fixture = "load-pcie-errors",
       .explained_by = {},
       .check = pcie_errors},
      {.id = "load.optics",
       .title = "transceiver raises no alarm under load",
       .why = "A module that is too hot or sees too little light errs first and goes dark later.",
       .source = "--load: ethtool -m: the module's own flags (SFF-8636, CMIS)",
       .standard = "none on; a warning warns, an alarm fails",
       .remedy = "Clean, cool, swap.",
       .fixture = "load-optics",
       .explained_by = {},
       .check = optics},
  };
  return kRules;
}

}  // namespace railbed
