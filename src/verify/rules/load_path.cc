// The whole path in the load window: links, cables and modules, losses, congestion, PCI Express.
#include <fmt/format.h>

#include <algorithm>

#include "model/link_remedy.h"
#include "verify/areas.h"
#include "verify/floor.h"
#include "verify/load_window.h"

namespace railbed {
namespace {

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
              {"The cable or module is failing: clean and reseat it, then swap it."},
              show_cable_with});
}

void lost_blocks_under_load(const Survey& survey, Judge& judge) {
  watch_ends(survey, judge,
             {fec_counters,
              {{"uncorrectable_blocks", kLostBlocksASecond,
                "error correction cannot mend what arrives, and packets are lost"}},
              Status::kFail,
              fmt::format("at most {} a second", kLostBlocksASecond),
              {"Clean and reseat the cable at both ends, then swap it; then the module at the other end."},
              show_cable_with});
}

void carrier_losses(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    const Load* load = verdict.read_if_there(end.facts->load, std::string(kNeedsLoad));
    if (load == nullptr) return;
    const InterfaceLoad* interface = interface_load(*load, end);
    if (interface == nullptr || !interface->statistics.contains("carrier_changes"))
      return verdict.not_applicable("the interface has no such counter");
    const std::uint64_t changes = move_of(interface->statistics, "carrier_changes");
    if (changes <= kCarrierChanges) return verdict.pass(std::to_string(changes));
    verdict.fail({.message = fmt::format("the link of {} on {} went up and down {} times in {:.0f} s",
                                         end.name, *end.node, changes / 2, load->seconds),
                  .expected = fmt::format("at most {} changes", kCarrierChanges),
                  .observed = std::to_string(changes),
                  .remedy = {"Reseat and then swap the cable; then the peer's port.",
                             {command("ethtool {}", port_interface(end))}}});
  });
}

void port_loss(const Survey& survey, Judge& judge) {
  each_loaded_end(survey, judge, [](Case& verdict, const RailEnd& end, const Load& load) {
    const PortLoad* port = port_load(load, end);
    const bool counted =
        port != nullptr && port->counters.contains("port_rcv_packets") &&
        (port->hw_counters.contains("packet_seq_err") || port->hw_counters.contains("out_of_sequence"));
    if (!counted) return verdict.not_applicable("the port does not count losses and packets");
    const std::uint64_t lost =
        move_of(port->hw_counters, "packet_seq_err") + move_of(port->hw_counters, "out_of_sequence");
    const std::uint64_t packets = std::max<std::uint64_t>(1, port->counters.at("port_rcv_packets"));
    const double ratio = static_cast<double>(lost) / static_cast<double>(packets);
    if (ratio <= kLossWarns) return verdict.pass(fmt::format("{} of {} packets", lost, packets));
    verdict.red(ratio > kLossFails ? Status::kFail : Status::kWarn,
                {.message = fmt::format(
                     "{} saw {} packets lost or out of order in {:.0f} s, {:.2g} of those that came; "
                     "in a lossless class that means PFC is broken",
                     end.rdma_where(), lost, load.seconds, ratio),
                 .expected = fmt::format("at most {:.0e}", kLossWarns),
                 .observed = fmt::format("{:.2g}", ratio),
                 .remedy = {"Check PFC and ECN of this priority on every hop of the path; then cables.",
                            {"rdma statistic show"}}});
  });
}

void transmit_wait(const Survey& survey, Judge& judge) {
  each_infiniband_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    const Load* load = load_of(verdict, end);
    if (load == nullptr) return;
    const CounterMoves* moves = port_counters(*load, end);
    if (moves == nullptr || !moves->contains("port_xmit_wait") || !moves->contains("port_xmit_data"))
      return verdict.not_applicable("the port has no such counter");
    // Both counters use the time of four bytes at the port's rate as the unit (InfiniBand Architecture
    // 16.1.4.5).
    const std::uint64_t waited = moves->at("port_xmit_wait");
    const std::uint64_t sent = moves->at("port_xmit_data");
    if (waited <= sent) return verdict.pass(fmt::format("waited {} ticks, sent for {}", waited, sent));
    verdict.warn({.message = fmt::format("{} waited for credits longer than it sent ({} against {} ticks): "
                                         "the fabric behind it is congested",
                                         end.rdma_where(), waited, sent),
                  .expected = "less waiting than sending",
                  .observed = fmt::format("{} of {} ticks", waited, waited + sent),
                  .remedy = {"Look for the slow receiver or the overused link; check the routing.",
                             {"ibqueryerrors", "iblinkinfo"}}});
  });
}

void judge_pcie(Case& verdict, const NodeView& node, const Load& load, const PciLoad& pci) {
  const std::uint64_t hard = move_of(pci.errors, "nonfatal") + move_of(pci.errors, "fatal");
  const std::uint64_t soft = move_of(pci.errors, "correctable");
  const bool often = static_cast<double>(soft) > kCorrectedPcieErrorsASecond * load.seconds;
  if (hard == 0 && !often) return verdict.pass(fmt::format("{} corrected", soft));
  verdict.red(
      hard > 0 ? Status::kFail : Status::kWarn,
      {.message = fmt::format("{} of {} reported {} PCIe errors in {:.0f} s{}", pci.address, *node.name,
                              hard > 0 ? hard : soft, load.seconds,
                              hard > 0 ? ", not corrected" : ", all corrected so far: each is sent again"),
       .expected = "none; corrected ones at most 1 a second",
       .observed = fmt::format("{} uncorrected, {} corrected", hard, soft),
       .remedy = {"Reseat the card and its riser; then its slot, its cable, its firmware.",
                  {command("grep . /sys/bus/pci/devices/{}/aer_dev_*", pci.address)}}});
}

void errors_on_pcie(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    if (!node.facts->load.ok()) {
      (void)judge.on(node, "PCIe").read_if_there(node.facts->load, std::string(kNeedsLoad));
      continue;
    }
    for (const PciLoad& pci : node.facts->load->pci) {
      const PciDevice* device = find_pci(node.pci(), pci.address);
      if (device == nullptr) continue;
      Case verdict = judge.on(node, pci.address, node.touches_of(*device));
      verdict.seen(node.facts->load);
      judge_pcie(verdict, node, *node.facts->load, pci);
    }
  }
}

void optics(const Survey& survey, Judge& judge) {
  each_loaded_end(survey, judge, [](Case& verdict, const RailEnd& end, const Load& load) {
    const InterfaceLoad* interface = interface_load(load, end);
    if (interface == nullptr) return verdict.not_applicable("no interface to ask");
    const auto& reading = interface->optics;
    verdict.seen(reading);
    if (!reading.ok()) return verdict.not_applicable(describe(reading.miss(), reading.from()));
    const Optics& module = *reading;
    if (module.alarms.empty())
      return verdict.pass(module.celsius ? fmt::format("no alarm, {:.0f} °C", *module.celsius) : "no alarm");
    const bool alarm = std::ranges::any_of(
        module.alarms, [](const std::string& each) { return each.find("alarm") != std::string::npos; });
    verdict.red(alarm ? Status::kFail : Status::kWarn,
                {.message = fmt::format("the module in {} of {} says: {}", end.name, *end.node,
                                        fmt::join(module.alarms, ", ")),
                 .expected = "no alarm",
                 .observed = fmt::format("{}", fmt::join(module.alarms, ", ")),
                 .remedy = {"Clean both ends of the fibre and check the air flow; then swap the module.",
                            {command("ethtool -m {}", end.name)}}});
  });
}

}  // namespace

std::span<const Rule> load_path_rules() {
  static const Rule kRules[] = {
      {.id = "load.carrier",
       .title = "link does not come and go under load",
       .why = "A link that flaps while it is used ends jobs.",
       .source = "--load: /sys/class/net/*/carrier_changes",
       .standard = "at most 2 changes in a window (railbed's own)",
       .remedy = "Look at the cable, then at the peer's port.",
       .fixture = "load-carrier",
       .explained_by = {"load.cable", "load.optics"},
       .check = carrier_losses},
      {.id = "load.loss",
       .title = "RDMA loses no packets under load",
       .why = "RoCE resends from the lost packet on: one in a million is felt, one in ten thousand ruins it.",
       .source = "--load: ports/*/hw_counters/{packet_seq_err,out_of_sequence} against port_rcv_packets",
       .standard = "at most 1e-6; above 1e-4 fails (railbed's own)",
       .remedy = "Look at PFC and ECN along the path, then at the cables.",
       .fixture = "load-loss",
       .explained_by = {"load.link-lost", "load.carrier", "load.lossless-discards", "load.corruption",
                        "load.cable", "rdma.pfc", "rdma.trust-dscp", "rdma.traffic-class"},
       .check = port_loss},
      {.id = "load.oversize",
       .title = "peers send no larger frames than fit",
       .why =
           "With a smaller MTU on one end small messages pass and large ones vanish: jobs hang, pings work.",
       .source = "--load: ethtool -S: rx_oversize_pkts_phy",
       .standard = "0",
       .remedy = "Set one MTU on both ends and on the switch.",
       .fixture = "load-oversize",
       .explained_by = {"net.mtu", "net.mtu-equal"},
       .check = oversize},
      {.id = "load.cable",
       .title = "cable and module hold under load",
       .why = "Modules get hot and marginal cables fail when there is traffic, not when somebody looks.",
       .source = "--load: ethtool -S: link_down_events_phy, module_high_temp, rx_pcs_symbol_err_phy, "
                 "rx_crc_errors_phy",
       .standard = "0",
       .remedy = "Clean and reseat the cable and its module, then swap them.",
       .fixture = "load-cable",
       .explained_by = {"load.optics"},
       .check = cable},
      {.id = "load.lost-blocks",
       .title = "error correction loses no blocks under load",
       .why =
           "A block that cannot be mended takes its packets with it, and RoCE repeats from the lost one on.",
       .source = "--load: ETHTOOL_MSG_FEC_GET: uncorrectable blocks",
       .standard = "at most 1 a second (railbed's own): IEEE 802.3's 1e-12 is 0.01 at 100 Gb/s, 0.08 at 800",
       .remedy = "Clean and reseat the cable and its module, then swap them.",
       .fixture = "load-lost-blocks",
       .explained_by = {"load.carrier", "load.optics", "load.cable"},
       .check = lost_blocks_under_load},
      {.id = "load.transmit-wait",
       .title = "InfiniBand port does not wait for credits",
       .why =
           "A port that waits more than it sends is stopped by a slow receiver or a crowded link behind it.",
       .source = "--load: ports/*/counters/{port_xmit_wait,port_xmit_data}",
       .standard = "less waiting than sending (railbed's own)",
       .remedy = "Find the slow receiver, or correct the routing.",
       .fixture = "load-transmit-wait",
       .explained_by = {"rdma.rate", "rdma.width"},
       .check = transmit_wait},
      {.id = "load.pcie-errors",
       .title = "PCIe is clean under load",
       .why = "Errors on the way to memory cost bandwidth while they are corrected, and the device when not.",
       .source = "--load: /sys/bus/pci/devices/*/aer_dev_{correctable,nonfatal,fatal}",
       .standard = "no uncorrected one; corrected ones at most 1 a second (railbed's own)",
       .remedy = "Reseat the card, then look at slot, cable and firmware.",
       .fixture = "load-pcie-errors",
       .explained_by = {},
       .check = errors_on_pcie},
      {.id = "load.optics",
       .title = "transceiver raises no alarm under load",
       .why = "A module that is too hot or sees too little light makes errors first and goes dark later.",
       .source = "--load: ethtool -m: the module's own flags (SFF-8636, CMIS)",
       .standard = "none on; a warning warns, an alarm fails",
       .remedy = "Clean the module's ends and see that it is cooled, then swap it.",
       .fixture = "load-optics",
       .explained_by = {},
       .check = optics},
  };
  return kRules;
}

}  // namespace railbed
