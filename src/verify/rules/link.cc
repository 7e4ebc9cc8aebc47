// The interface of each rail and the cable behind it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

std::string speed_text(double mbps) { return to_text(BitRate{mbps * 1e6}); }

void interface_exists(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [](Case& one, const RailEnd& end) {
    if (one.read(end.facts->net.interfaces) == nullptr) return;
    if (end.interface != nullptr) return one.pass(end.name);
    std::vector<std::string_view> names;
    for (const NetInterface& interface : *end.facts->net.interfaces) names.push_back(interface.name);
    one.fail({.message = fmt::format("{} has no interface {} (it has {})", *end.node, end.name,
                                     fmt::join(names, ", ")),
              .expected = end.name,
              .observed = fmt::format("{}", fmt::join(names, " ")),
              .remedy = {"If it was renamed, correct cluster.yaml; else look for the adapter and its driver.",
                         {"ip -brief link", "lspci -nn | grep -i -e mellanox -e ethernet"}}});
  });
}

void admin_up(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& one, const RailEnd& end) {
    if (one.lacks_interface(end)) return;
    const bool* up = one.read(end.interface->administratively_up);
    if (up == nullptr) return;
    if (*up) return one.pass("up");
    one.fail({.message = fmt::format("{} is switched off (administratively down)", end.where()),
              .expected = "up",
              .observed = "down",
              .remedy = {"Switch it on, and see to it that the network configuration does so at boot.",
                         {fmt::format("ip link set {} up", end.name)}}});
  });
}

void carrier(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& one, const RailEnd& end) {
    // A cable between two nodes is dead at both ends when one of them switches its port off.
    if (end.rail != nullptr && end.rail->topology == Topology::kBackToBack)
      for (const RailPort& other : end.rail->ports)
        if (other.node != *end.node) one.touch("node:" + other.node);
    if (end.infiniband()) return one.not_applicable("on InfiniBand the port's state tells");
    if (one.lacks_interface(end)) return;
    if (!end.interface->administratively_up.value_or(true))
      return one.fail(
          {.message = fmt::format("{} has no link: it is switched off", end.where()),
           .expected = "link",
           .observed = "switched off",
           .remedy = {"Switch the interface on first.", {fmt::format("ip link set {} up", end.name)}}});
    const bool* link = one.read(end.interface->carrier);
    if (link == nullptr) return;
    if (*link) return one.pass("link");
    one.fail(
        {.message =
             fmt::format("{} has no link: no cable, a dead cable, or the other end is off", end.where()),
         .expected = "link",
         .observed = "no carrier",
         .remedy = {"Reseat the cable at both ends, try another one, check the port of the switch or peer.",
                    {fmt::format("ethtool {}", end.name), fmt::format("ethtool -m {}", end.name)}}});
  });
}

// What more than half of at least three ends run at.
std::optional<int> usual_speed(const Survey& survey, const Rail& rail) {
  std::map<int, int> votes;
  int all = 0;
  for (const RailEnd* other : survey.ends_of(rail))
    if (other->interface != nullptr && other->interface->speed_mbps.ok()) {
      ++votes[*other->interface->speed_mbps];
      ++all;
    }
  for (const auto& [speed, count] : votes)
    if (count * 2 > all && all > 2) return speed;
  return std::nullopt;
}

struct SpeedGoal {
  double mbps;
  Status status;
  std::string_view from;
};
// What cluster.yaml says, else what most nodes of the rail run at, else what the adapter can do.
std::optional<SpeedGoal> speed_goal(const RailEnd& end, std::optional<int> usual) {
  if (end.rail != nullptr && end.rail->speed)
    return SpeedGoal{end.rail->speed->bits_per_second / 1e6, Status::kFail, "cluster.yaml"};
  if (usual) return SpeedGoal{static_cast<double>(*usual), Status::kFail, "the other nodes of this rail"};
  // A card with fewer lanes than its table row (each half of a DGX Spark's port) is another card.
  const bool whole = end.adapter != nullptr && end.adapter->link_max.ok() && end.model != nullptr &&
                     end.adapter->link_max->width == end.model->pcie_width;
  if (whole && end.model->ethernet.bits_per_second > 0)
    return SpeedGoal{end.model->ethernet.bits_per_second / 1e6, Status::kWarn, end.model->name};
  return std::nullopt;
}

void speed(const Survey& survey, Judge& judge) {
  std::map<const Rail*, std::optional<int>> usual;
  for (const Rail& rail : survey.evidence.cluster.rails) usual[&rail] = usual_speed(survey, rail);
  each_end(survey, judge, [&](Case& one, const RailEnd& end) {
    if (end.infiniband()) return one.not_applicable("on InfiniBand the port's rate tells");
    if (one.lacks_interface(end)) return;
    const auto goal = speed_goal(end, usual[end.rail]);
    if (!goal) return one.not_applicable("no speed is expected, and a virtual link has none of its own");
    if (!end.interface->carrier.value_or(false)) return one.not_applicable("the link is down");
    const int* mbps = one.read(end.interface->speed_mbps);
    if (mbps == nullptr) return;
    if (*mbps == goal->mbps) return one.pass(speed_text(*mbps));
    const bool slow = *mbps < goal->mbps;
    one.red(
        goal->status,
        {.message = fmt::format("{} runs at {}, expected {} ({}): {}", end.where(), speed_text(*mbps),
                                speed_text(goal->mbps), goal->from,
                                slow ? "bad cable or failed negotiation" : "cluster.yaml is out of date"),
         .expected = speed_text(goal->mbps),
         .observed = speed_text(*mbps),
         .remedy = {slow ? "Swap the cable for one rated for the speed; then check that both ends offer it."
                         : "Correct the rail's speed in cluster.yaml.",
                    {fmt::format("ethtool {}", end.name), fmt::format("ethtool -m {}", end.name)}}});
  });
}

void flaps(const Survey& survey, Judge& judge) {
  constexpr double kLossesPerDay = 5;  // gpud's threshold for a flapping port
  each_end(survey, judge, [&](Case& one, const RailEnd& end) {
    if (one.lacks_interface(end)) return;
    const std::uint64_t* changes = one.read(end.interface->carrier_changes);
    if (changes == nullptr) return;
    const double* uptime = one.read(end.facts->system.kernel.uptime_seconds);
    if (uptime == nullptr) return;
    const double days = std::max(1.0, *uptime / 86400);
    const double losses = static_cast<double>(*changes) / 2;  // each loss is a change down and a change up
    if (losses / days < kLossesPerDay) return one.pass(fmt::format("{} changes", *changes));
    one.warn(
        {.message = fmt::format("{} lost its link {:.0f} times in {:.1f} days: a cable or port is failing",
                                end.where(), losses, days),
         .expected = fmt::format("fewer than {} a day", kLossesPerDay),
         .observed = fmt::format("{:.1f} a day", losses / days),
         .remedy = {
             "Clean and reseat, then swap the cable; look at the optics' levels.",
             {fmt::format("ethtool -m {}", end.name), fmt::format("journalctl -k | grep {}", end.name)}}});
  });
}

void receive_errors(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& one, const RailEnd& end) {
    if (one.lacks_interface(end)) return;
    const std::uint64_t* errors = one.read(end.interface->receive_errors);
    if (errors == nullptr) return;
    if (*errors == 0) return one.pass("0");
    one.warn({.message = fmt::format("{} received {} broken frames: the cable or a transceiver damages them",
                                     end.where(), *errors),
              .expected = "0",
              .observed = std::to_string(*errors),
              .remedy = {"See which counter grows under load, then swap the cable.",
                         {fmt::format("ethtool -S {} | grep -i -e err -e crc -e oversize", end.name)}}});
  });
}

// An RDMA interface of the node that cluster.yaml gives no rail.
bool is_spare(const NodeView& node, const NetInterface& interface) {
  return std::ranges::find(node.ends, interface.name, &RailEnd::name) == node.ends.end() &&
         rdma_port_of(node.facts->rdma, node.facts->net, interface.name);
}

void judge_spare(Case& one, const NodeView& node, const NetInterface& interface) {
  const bool* up = one.read(interface.administratively_up);
  if (up == nullptr) return;
  const bool used = std::ranges::any_of(items(interface.addresses),
                                        [](const auto& each) { return !each.address.is_link_local(); });
  if (used) return one.pass("has an address");
  if (!*up) return one.pass("down");
  if (interface.master.ok()) return one.pass("member of " + *interface.master);
  one.warn(
      {.message = fmt::format("{} of {} belongs to no rail and is switched on: NCCL may pick it and hang",
                              interface.name, *node.name),
       .expected = "down",
       .observed = "up",
       .remedy = {"Switch it off now and at boot, or make it a rail.",
                  {fmt::format("ip link set {} down", interface.name)}}});
}

void unused_adapters(const Survey& survey, Judge& judge) {
  if (survey.evidence.cluster.rails.empty()) return;
  for (const NodeView& node : survey.nodes)
    for (const NetInterface& interface : items(node.facts->net.interfaces)) {
      if (!is_spare(node, interface)) continue;
      Case one = judge.on(node, interface.name, {"netdev:" + interface.name});
      judge_spare(one, node, interface);
    }
}

void bond_under_rdma(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& one, const RailEnd& end) {
    if (one.lacks_interface(end)) return;
    if (!end.wants_rdma()) return one.not_applicable("the rail is plain Ethernet");
    const bool is_bond = end.interface->bond_mode.ok();
    const bool is_member = end.interface->master.ok();
    one.seen(is_bond ? end.interface->bond_mode : end.interface->master);
    if (!is_bond && !is_member) return one.pass("no bond");
    const std::string what = is_bond ? fmt::format("is a bond ({})", *end.interface->bond_mode)
                                     : fmt::format("is a member of {}", *end.interface->master);
    one.warn({.message = fmt::format("{} {}: one RDMA connection is one flow and uses one member only",
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
       .explained_by = {"rdma.adapter-modules", "rdma.os-supports-adapter"},
       .check = interface_exists},
      {.id = "net.admin-up",
       .title = "rail interface is switched on",
       .why = "An interface that is switched off has no link, no RDMA port and no GID.",
       .source = "IFF_UP in /sys/class/net/*/flags",
       .standard = "up",
       .remedy = "ip link set up; check the network configuration.",
       .fixture = "v100-interface-off",
       .explained_by = {"net.interface"},
       .check = admin_up},
      {.id = "net.carrier",
       .title = "rail interface has a link",
       .why = "No carrier means no light or no signal: nothing else on this rail can work.",
       .source = "/sys/class/net/*/carrier",
       .standard = "1",
       .remedy = "Cable, transceiver, the port at the other end.",
       .fixture = "v100-cable-out",
       .explained_by = {"net.admin-up", "net.interface", "rdma.cable-unplugged", "rdma.cable-error",
                        "rdma.device-health"},
       .check = carrier},
      {.id = "net.speed",
       .title = "rail interface runs at its speed",
       .why = "A poor cable makes the ports settle for less, often a quarter: "
              "40G cards at 10 Gb/s pass every ping and give 1.1 GB/s.",
       .source = "/sys/class/net/*/speed",
       .standard = "the rail's speed in cluster.yaml, else most nodes of the rail, else the adapter's table",
       .remedy = "Another cable; then the port settings of both ends.",
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
       .source = "/sys/class/net/*/statistics/rx_errors",
       .standard = "0 since boot",
       .remedy = "Swap the cable; compare the MTU at both ends when oversize frames are counted.",
       .fixture = "v100-receive-errors",
       .explained_by = {"net.mtu-equal"},
       .check = receive_errors},
      {.id = "net.unused-adapter",
       .title = "RDMA interfaces outside the rails are off",
       .why = "NCCL uses every active RDMA port it finds. One that leads nowhere makes it hang or fall back.",
       .source = "/sys/class/net/*/flags",
       .standard = "down, or with an address of its own",
       .remedy = "ip link set down, now and at boot.",
       .fixture = "spark-unused-nic-up",
       .explained_by = {},
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
