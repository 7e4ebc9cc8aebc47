// The interface of each rail and the cable behind it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/wording.h"
#include "hardware/ceilings.h"
#include "hardware/fec.h"
#include "hardware/spark.h"
#include "model/expected_rate.h"
#include "model/link_remedy.h"
#include "verify/areas.h"
#include "verify/error_rate.h"
#include "verify/walk.h"

namespace railbed {
namespace {

std::string speed_text(double mbps) { return to_text(BitRate{mbps * 1e6}); }

void interface_exists(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (verdict.read(end.facts->net.interfaces) == nullptr) return;
    if (end.interface != nullptr) return verdict.pass(end.name);
    std::vector<std::string_view> names;
    for (const NetInterface& interface : *end.facts->net.interfaces) names.push_back(interface.name);
    verdict.fail(
        {.message =
             fmt::format("{} has no interface {} (it has {})", *end.node, end.name, fmt::join(names, ", ")),
         .expected = end.name,
         .observed = fmt::format("{}", fmt::join(names, " ")),
         .remedy = {"If it was renamed, correct cluster.yaml; else look for the adapter and its driver.",
                    {"ip -brief link", "lspci -nn | grep -i -e mellanox -e ethernet"}}});
  });
}

void admin_up(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    const bool* up = verdict.read(end.interface->administratively_up);
    if (up == nullptr) return;
    if (*up) return verdict.pass("up");
    verdict.fail({.message = fmt::format("{} is switched off (administratively down)", end.where()),
                  .expected = "up",
                  .observed = "down",
                  .remedy = {"Switch it on, and see to it that the network configuration does so at boot.",
                             {command("ip link set {} up", end.name)}}});
  });
}

// Returns true for an RDMA interface of the node that cluster.yaml assigns to no rail.
bool is_spare(const NodeView& node, const NetInterface& interface) {
  return find_vlan(node.facts->net, interface.name) == nullptr &&
         std::ranges::find(node.ends, interface.name, &RailEnd::name) == node.ends.end() &&
         rdma_port_of(node.facts->rdma, node.facts->net, interface.name);
}

// Returns true if both are ports of one card: functions of one device, or of one function (mlx4).
bool share_a_card(const NetInterface& interface, const NetInterface& other) {
  if (!interface.pci_address.ok() || !other.pci_address.ok()) return false;
  return pci_slot_of(*interface.pci_address) == pci_slot_of(*other.pci_address);
}

bool has_own_address(const NetInterface& interface) {
  return std::ranges::any_of(items(interface.addresses),
                             [](const auto& each) { return !each.address.is_link_local(); });
}

// Returns true if the rail's port has no link, and the spare port of its card has one that nothing uses: the cable is in
// the wrong port of the card.
bool has_cable_of(const NodeView& node, const NetInterface& spare, const RailEnd& end) {
  if (end.interface == nullptr || end.interface == &spare || end.rail == nullptr) return false;
  const bool dead =
      end.interface->administratively_up.value_or(true) && !end.interface->carrier.value_or(true);
  return dead && spare.carrier.value_or(false) && share_a_card(spare, *end.interface) &&
         is_spare(node, spare) && !has_own_address(spare) && !spare.master.ok() &&
         carried_by(*node.facts, spare).empty();
}

const NetInterface* port_with_cable_of(const NodeView& node, const RailEnd& end) {
  for (const NetInterface& spare : items(node.facts->net.interfaces))
    if (has_cable_of(node, spare, end)) return &spare;
  return nullptr;
}

void carrier(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    // A cable between two nodes is dead at both ends if one of them switches its port off.
    if (end.rail != nullptr && end.rail->topology == Topology::kBackToBack)
      for (const RailPort& other : end.rail->ports)
        if (other.node != *end.node) verdict.touch("node:" + other.node);
    if (end.infiniband()) return verdict.not_applicable("on InfiniBand the port's state tells");
    if (verdict.lacks_interface(end)) return;
    if (!end.interface->administratively_up.value_or(true))
      return verdict.fail(
          {.message = fmt::format("{} has no link: it is switched off", end.where()),
           .expected = "link",
           .observed = "switched off",
           .remedy = {"Switch the interface on first.", {command("ip link set {} up", end.name)}}});
    const bool* link = verdict.read(end.interface->carrier);
    if (link == nullptr) return;
    if (*link) return verdict.pass("link");
    if (const NetInterface* other = port_with_cable_of(node, end)) {
      verdict.seen(other->carrier);
      verdict.touch("netdev:" + other->name);
      return verdict.fail(
          {.message = fmt::format(
               "{} has no link, and {}, the other port of its card, has one that no rail uses: the "
               "cable is in the wrong port",
               end.where(), other->name),
           .expected = "link",
           .observed = fmt::format("no carrier; {} has a link", other->name),
           .remedy = {
               .text = fmt::format("Swap the cable to the port of {}. If the cabling is meant so, name {} in "
                                   "cluster.yaml instead.",
                                   end.name, other->name),
               .commands = {command("ethtool -p {} 10  # its port blinks", port_interface(end))},
               .by_hand_only = true}});
    }
    verdict.fail(
        {.message =
             fmt::format("{} has no link: no cable, a dead cable, or the other end is off", end.where()),
         .expected = "link",
         .observed = "no carrier",
         .remedy = {
             "Reseat the cable at both ends, try another one, check the port of the switch or peer.",
             {command("ethtool {}", port_interface(end)), command("ethtool -m {}", port_interface(end))}}});
  });
}

std::string modes_text(const FecState& fec) {
  std::vector<std::string_view> names;
  for (const FecMode mode : fec.configured) names.push_back(fec_mode_text(mode));
  return fmt::format("{}", fmt::join(names, " or "));
}

// Returns the correction of the port of an end; null if it is not known.
const FecState* fec_of_port(const RailEnd& end) {
  const NetInterface* port = carrier_of(end.facts->net, end.name);
  return port != nullptr && port->fec.ok() ? &*port->fec : nullptr;
}

// Returns whether the cable of an end is fast enough for error correction, by all that is known of it: what the port
// advertises, else what it supports, and the rail's speed in cluster.yaml. nullopt if none is.
std::optional<bool> reaches_correction(const RailEnd& end) {
  std::optional<bool> known;
  const auto take = [&](int mbps) {
    if (mbps > 0) known = known.value_or(true) && has_correction(mbps);
  };
  if (const NetInterface* port = carrier_of(end.facts->net, end.name); port != nullptr && port->modes.ok())
    take(port->modes->advertised_mbps > 0 ? port->modes->advertised_mbps : port->modes->supported_mbps);
  if (end.rail != nullptr && end.rail->speed) take(static_cast<int>(end.rail->speed->bits_per_second / 1e6));
  return known;
}

void error_correction(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [&](Case& verdict, const RailEnd& end) {
    if (end.infiniband()) return verdict.not_applicable("InfiniBand");
    if (verdict.lacks_interface(end)) return;
    const RailEnd* other = other_end(survey, end);
    if (other == nullptr) return verdict.not_applicable("the other end of its cable is no node");
    const FecState* own = fec_of_port(end);
    const FecState* theirs = fec_of_port(*other);
    if (own == nullptr || theirs == nullptr)
      return verdict.not_applicable("the driver of one end does not report its error correction");
    const auto here = reaches_correction(end);
    const auto there = reaches_correction(*other);
    if (here == false || there == false)
      return verdict.not_applicable("its lanes are slower than 25 Gb/s, where error correction begins");
    if (!here || !there)
      return verdict.not_applicable(
          "nothing says how fast it can be: state the rail's speed in cluster.yaml");
    verdict.add_evidence(fmt::format("ethtool --show-fec {}", port_interface(end)));
    const bool* link = verdict.read_if_there(end.interface->carrier, "switched off (net.admin-up)");
    if (link == nullptr) return;
    if (*link || may_agree(*own, *theirs))
      return verdict.pass(fmt::format("{}, active {}", modes_text(*own), fec_mode_text(own->active)));
    verdict.touch("node:" + *other->node);
    verdict.fail({.message = fmt::format(
                      "{} is set to the error correction {}, and {}, the other end of its cable, to {}: the "
                      "link cannot come up",
                      end.where(), modes_text(*own), other->where(), modes_text(*theirs)),
                  .expected = "a mode that both ends have",
                  .observed = fmt::format("{}; {}", modes_text(*own), modes_text(*theirs)),
                  .remedy = {"Set both ends to the same mode, best to auto.",
                             {command("ethtool --set-fec {} encoding auto", port_interface(end))}}});
  });
}

// Returns what prevents the speed `want`, by the speeds that the ports advertise.
std::string why_slow(const Survey& survey, const RailEnd& end, BitRate want) {
  const Offers offers = offers_of(survey, end);
  const double mbps = want.bits_per_second / 1e6;
  if (offers.own > 0 && offers.own < mbps)
    return fmt::format("the port itself offers no more than {}", speed_text(offers.own));
  if (offers.peer > 0 && offers.peer < mbps)
    return fmt::format("the other end offers no more than {}", speed_text(offers.peer));
  return offers.own > 0 && offers.peer > 0 ? "the cable or a transceiver allows no more"
                                           : "the cable, a transceiver or the other end allows no more";
}

void judge_speed(Case& verdict, const Survey& survey, const RailEnd& end, const ExpectedRate& expected,
                 int mbps) {
  const double want = expected.rate.bits_per_second / 1e6;
  const bool stated = end.rail != nullptr && end.rail->speed.has_value();
  if (mbps == want || (mbps > want && !stated)) return verdict.pass(speed_text(mbps));
  const bool slow = mbps < want;
  verdict.red(
      expected.certain ? Status::kFail : Status::kWarn,
      {.message = fmt::format("{} runs at {}, expected {} ({}): {}", end.where(), speed_text(mbps),
                              to_text(expected.rate), expected.from,
                              slow ? why_slow(survey, end, expected.rate) : "cluster.yaml is out of date"),
       .expected = to_text(expected.rate),
       .observed = speed_text(mbps),
       .remedy = {
           slow ? "Compare what both ends offer; then swap the cable for one rated for the speed."
                : "Correct the rail's speed in cluster.yaml.",
           {command("ethtool {}", port_interface(end)), command("ethtool -m {}", port_interface(end))}}});
}

void speed(const Survey& survey, Judge& judge) {
  const ExpectedRates rates(survey);
  each_end(survey, judge, [&](Case& verdict, const RailEnd& end) {
    if (end.infiniband()) return verdict.not_applicable("on InfiniBand the port's rate tells");
    if (verdict.lacks_interface(end)) return;
    if (is_virtual(*end.interface) && (end.rail == nullptr || !end.rail->speed))
      return verdict.not_applicable("a virtual link has no speed of its own");
    const auto expected = rates.of(end);
    if (!expected)
      return verdict.not_applicable(
          "nothing says how fast it should be: state the rail's speed in cluster.yaml");
    if (!end.interface->carrier.value_or(false)) return verdict.not_applicable("the link is down");
    const int* mbps = verdict.read(end.interface->speed_mbps);
    if (mbps != nullptr) judge_speed(verdict, survey, end, *expected, *mbps);
  });
}

std::vector<ShellCommand> show_link_with(const RailEnd& end) {
  std::vector<ShellCommand> commands = show_cable_with(end);
  commands.push_back(command("journalctl -k | grep {}", port_interface(end)));
  return commands;
}

void flaps(const Survey& survey, Judge& judge) {
  constexpr double kLossesPerDay = 5;  // gpud's threshold for a flapping port
  each_end(survey, judge, [&](Case& verdict, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    const std::uint64_t* changes = verdict.read(end.interface->carrier_changes);
    if (changes == nullptr) return;
    const double* uptime = verdict.read(end.facts->system.kernel.uptime_seconds);
    if (uptime == nullptr) return;
    const double days = std::max(1.0, *uptime / 86400);
    const double losses = static_cast<double>(*changes) / 2;  // each loss is a change down and a change up
    if (losses / days < kLossesPerDay) return verdict.pass(counted(*changes, "change"));
    verdict.warn(
        {.message = fmt::format("{} lost its link {:.0f} times in {:.1f} days: a cable or port is failing",
                                end.where(), losses, days),
         .expected = fmt::format("fewer than {} a day", kLossesPerDay),
         .observed = fmt::format("{:.1f} a day", losses / days),
         .remedy = {"Clean and reseat, then swap the cable; look at the optics' levels.",
                    show_link_with(end)}});
  });
}

// The limit is one bad frame in ten million, and more than a few of them. IEEE 802.3's bit error ratio of
// 1e-12 damages about seven frames of 9000 bytes in 10^8.
void receive_errors(const Survey& survey, Judge& judge) {
  constexpr ErrorLimit kLimit{.a_day = 10, .of_packets = 1e-7};
  each_end(survey, judge, [&](Case& verdict, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    const std::uint64_t* errors = verdict.read(end.interface->receive_errors);
    if (errors == nullptr) return;
    const auto span = error_span(verdict, *end.facts, end.interface->received_packets);
    if (!span) return;
    const std::string rate = rate_text(*errors, *span);
    if (!exceeds(*errors, *span, kLimit)) return verdict.pass(rate);
    verdict.warn(
        {.message = fmt::format("{} received broken frames, {}: the cable or a transceiver damages them",
                                end.where(), rate),
         .expected = limit_text(kLimit),
         .observed = rate,
         .remedy = {"See which counter grows under load, then swap the cable.",
                    {command("ethtool -S {} | grep -i -e err -e crc -e oversize", port_interface(end))}}});
  });
}

// Returns the remedy. An InfiniBand port stays active without its interface, and may serve storage.
Remedy leave_out(const NetInterface& interface) {
  constexpr int kArphrdInfiniband = 32;  // linux/if_arp.h
  if (interface.link_type.value_or(0) == kArphrdInfiniband)
    return {"Make it a rail, or name the rails' ports alone in NCCL_IB_HCA."};
  return {"Switch it off now and at boot, or make it a rail.",
          {command("ip link set {} down", interface.name)}};
}

// Returns the rail end on the same cable of a DGX Spark; null if there is none.
const RailEnd* other_half(const NodeView& node, const NetInterface& interface) {
  const auto found = std::ranges::find_if(node.ends, [&](const RailEnd& end) {
    return share_spark_cable(*node.facts, interface.name, end.name);
  });
  return found == node.ends.end() ? nullptr : &*found;
}

void judge_half(Case& verdict, const NodeView& node, const NetInterface& interface, const RailEnd& half) {
  verdict.warn(
      {.message =
           fmt::format("{} of {} is the second way to the cable of {} and carries nothing: each of the "
                       "two has four PCIe lanes, and both together carry twice as much",
                       interface.name, *node.name, half.name),
       .expected = "a rail of its own, with an address in a subnet of its own",
       .observed = "up, without an address",
       .remedy = {.text = fmt::format(
                      "Give it an address in another subnet than {}'s, at boot by netplan, which owns "
                      "the network of DGX OS; make it a rail in cluster.yaml, and name both devices "
                      "in NCCL_IB_HCA where that is set. Do not switch it off.",
                      half.name),
                  .commands = {command("ip -brief address show {}", interface.name)},
                  .by_hand_only = true}});
}

void judge_spare(Case& verdict, const NodeView& node, const NetInterface& interface) {
  const bool* up = verdict.read(interface.administratively_up);
  if (up == nullptr) return;
  if (has_own_address(interface)) return verdict.pass("has an address");
  const RailEnd* half = other_half(node, interface);
  if (!*up)
    return verdict.pass(half == nullptr ? "down" : "down; a rail of its own on " + half->name + "'s cable");
  if (interface.master.ok()) return verdict.pass("member of " + *interface.master);
  const std::string upper = carried_by(*node.facts, interface);
  if (!upper.empty()) return verdict.pass("carries " + upper);
  for (const Vlan& vlan : items(node.facts->net.vlans))
    if (vlan.parent == interface.name) return verdict.pass("carries " + vlan.interface);
  if (half != nullptr) return judge_half(verdict, node, interface, *half);
  for (const RailEnd& end : node.ends)
    if (has_cable_of(node, interface, end))
      return verdict.warn(
          {.message = fmt::format("{} of {} has the cable of {}, the other port of its card", interface.name,
                                  *node.name, end.name),
           .expected = "no cable",
           .observed = "a link",
           .remedy = {
               .text = fmt::format("Swap the cable to the port of {}; this port works and is not to be "
                                   "switched off for it.",
                                   end.name),
               .by_hand_only = true}});
  verdict.warn(
      {.message = fmt::format("{} of {} belongs to no rail and is switched on: NCCL may pick it and hang",
                              interface.name, *node.name),
       .expected = "down",
       .observed = "up",
       .remedy = leave_out(interface)});
}

void unused_adapters(const Survey& survey, Judge& judge) {
  if (survey.evidence.cluster.rails.empty()) return;
  for (const NodeView& node : survey.nodes)
    for (const NetInterface& interface : items(node.facts->net.interfaces)) {
      if (!is_spare(node, interface)) continue;
      Case verdict = judge.on(node, interface.name, {"netdev:" + interface.name});
      judge_spare(verdict, node, interface);
    }
}

void bond_under_rdma(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    if (!end.wants_rdma()) return verdict.not_applicable("the rail is plain Ethernet");
    const bool is_bond = end.interface->bond_mode.ok();
    const bool is_member = end.interface->master.ok();
    verdict.seen(is_bond ? end.interface->bond_mode : end.interface->master);
    if (!is_bond && !is_member) return verdict.pass("no bond");
    const std::string what = is_bond ? fmt::format("is a bond ({})", *end.interface->bond_mode)
                                     : fmt::format("is a member of {}", *end.interface->master);
    verdict.warn({.message = fmt::format("{} {}: one RDMA connection is one flow and uses one member only",
                                         end.where(), what),
                  .expected = "one rail per port, each in its own subnet",
                  .observed = what,
                  .remedy = {"Take the bond apart and make each port a rail of its own."}});
  });
}

}  // namespace

std::span<const Rule> link_rules() {
  static const Rule kRules[] = {
      {.id = "net.interface",
       .title = "rail interface exists",
       .why = "cluster.yaml names an interface that the node does not have: "
              "it was renamed by a firmware or udev change, or its adapter is gone.",
       .source = "/sys/class/net",
       .standard = "the interface that cluster.yaml names",
       .remedy = "Correct cluster.yaml, or bring the adapter back.",
       .fixture = "v100-interface-renamed",
       .explained_by = {"rdma.adapter-modules", "rdma.os-supports-adapter", "rdma.link-layer"},
       .check = interface_exists},
      {.id = "net.admin-up",
       .title = "rail interface is switched on",
       .why = "An interface that is switched off has no link, no RDMA port and no GID.",
       .source = "IFF_UP in /sys/class/net/*/flags",
       .standard = "up",
       .remedy = "ip link set up; check the network configuration.",
       .fixture = "v100-interface-off",
       .explained_by = {"net.interface"},
       .settings = {"network/rails"},
       .check = admin_up},
      {.id = "net.carrier",
       .title = "rail interface has a link",
       .why = "No carrier means no light or no signal: nothing else on this rail can work.",
       .source = "/sys/class/net/*/carrier",
       .standard = "1",
       .remedy = "Look at the cable, the transceiver and the port at the other end.",
       .fixture = "v100-cable-out",
       .explained_by = {"net.admin-up", "net.interface", "net.fec", "rdma.cable-unplugged",
                        "rdma.cable-error", "rdma.device-health", "rdma.link-trouble"},
       .check = carrier},
      {.id = "net.fec",
       .title = "both ends of a cable can use one error correction",
       .why =
           "From 25 Gb/s a lane on, two ports that are set to different modes of error correction make no link.",
       .source = "ETHTOOL_MSG_FEC_GET, as ethtool --show-fec",
       .standard =
           "a mode that both ends are set to, or one end on auto; judged of a cable of 25 Gb/s a lane or more between "
           "two nodes without a link",
       .remedy = "ethtool --set-fec IF encoding auto on both ends.",
       .fixture = "h100-fec-differs",
       .explained_by = {"net.interface", "net.admin-up", "rdma.cable-unplugged", "rdma.cable-error"},
       .check = error_correction},
      {.id = "net.speed",
       .title = "rail interface runs at its speed",
       .why = "A poor cable makes the ports settle for less, often a quarter: "
              "40G cards at 10 Gb/s pass every ping and give 1.1 GB/s.",
       .source = "/sys/class/net/*/speed, ETHTOOL_GLINKSETTINGS",
       .standard =
           "the rail's speed in cluster.yaml, else most nodes of the rail, else most rails on the same "
           "adapter, else what both ends of the cable offer; not judged where none of these is known",
       .remedy = "Compare the port settings of both ends, then try another cable.",
       .fixture = "v100-40g-at-10g",
       .explained_by = {"net.carrier"},
       .check = speed},
      {.id = "net.flaps",
       .title = "link does not come and go",
       .why = "Each loss breaks every connection on the rail and stops the whole training job.",
       .source = "/sys/class/net/*/carrier_changes, /proc/uptime",
       .standard = "fewer than 5 losses a day (gpud)",
       .remedy = "Clean, reseat, swap the cable.",
       .fixture = "h100-link-flaps",
       .explained_by = {"rdma.cable-unplugged", "rdma.cable-error", "rdma.device-health"},
       .check = flaps},
      {.id = "net.receive-errors",
       .title = "rail receives no broken frames",
       .why = "Frames with a bad checksum are dropped; RDMA then resends whole windows.",
       .source = "/sys/class/net/*/statistics/{rx_errors,rx_packets}, /proc/uptime",
       .standard = "at most 10 a day, or one frame in ten million",
       .remedy = "Swap the cable; compare the MTU at both ends when oversize frames are counted.",
       .fixture = "v100-receive-errors",
       .explained_by = {"net.mtu-equal"},
       .check = receive_errors},
      {.id = "net.unused-adapter",
       .title = "RDMA interfaces outside the rails are off",
       .why = "NCCL uses every active RDMA port it finds. One that leads nowhere makes it hang or fall back.",
       .source = "/sys/class/net/*/flags",
       .standard = "down, or with an address of its own; on DGX Spark both ways to a rail's cable are rails",
       .remedy = "ip link set down, now and at boot; on DGX Spark, make it a rail.",
       .fixture = "spark-unused-nic-up",
       .explained_by = {"net.carrier"},
       .settings = {"network/unused"},
       .check = unused_adapters},
      {.id = "net.bond-under-rdma",
       .title = "no bond under RDMA",
       .why = "A bond spreads flows, not packets: one RDMA connection uses one member, "
              "so two ports give the bandwidth of one. NCCL spreads over rails by itself.",
       .source = "/sys/class/net/*/bonding/mode, /sys/class/net/*/master",
       .standard = "each port its own rail in its own subnet",
       .remedy = "Take the bond apart.",
       .fixture = "v100-bond",
       .explained_by = {},
       .check = bond_under_rdma},
  };
  return kRules;
}

}  // namespace railbed
