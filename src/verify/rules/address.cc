// MTU and addresses of the rails' interfaces.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware/spark.h"
#include "model/link_remedy.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Owners report this of fwupdmgr. The other half of the port, and the peer, keep their MTU.
std::string_view why_mtu(const RailEnd& end, int have) {
  constexpr int kAfterReset = 1500;
  if (have != kAfterReset || end.adapter == nullptr ||
      !is_spark_function(items(end.facts->pci), *end.adapter))
    return "";
  return ": a firmware update may leave one half of a DGX Spark's port so";
}

// Returns how an end gets the MTU that cluster.yaml asks for. On InfiniBand the subnet manager's partition limits
// datagrams, and a larger MTU needs connected mode.
Remedy give_mtu(const Survey& survey, const RailEnd& end, int want) {
  if (!end.infiniband() || !end.interface->ipoib_mode.ok())
    return {
        "Set it now (traffic pauses for a moment), and in the network configuration; "
        "prove it with a large ping.",
        set_mtu_with(end, want)};
  const bool connected = want > kLargestDatagram;
  if (connected && has_connected_ipoib(end, survey.evidence.cluster) == false)
    return {.text = fmt::format(
                "Write mtu: {} for {} in cluster.yaml: a {} has no connected mode, and its datagrams "
                "carry no more.",
                kLargestDatagram, end.rail->name, end.model == nullptr ? "listed adapter" : end.model->name),
            .by_hand_only = true};
  return set_ipoib_mtu(*survey.find(*end.node), end, want, connected);
}

void mtu(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [&](Case& verdict, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    if (!end.rail->mtu) return verdict.not_applicable("cluster.yaml asks for no MTU on this rail");
    const int* have = verdict.read(end.interface->mtu);
    if (have == nullptr) return;
    const int want = *end.rail->mtu;
    if (*have == want) return verdict.pass(std::to_string(want));
    verdict.fail({.message = fmt::format("{} has MTU {}, expected {}{}", end.where(), *have, want,
                                         why_mtu(end, *have)),
                  .expected = std::to_string(want),
                  .observed = std::to_string(*have),
                  .remedy = give_mtu(survey, end, want)});
  });
}

void mtu_equal(const Survey& survey, Judge& judge) {
  each_rail(survey, judge, [&](Case& verdict, const Rail& rail) {
    std::map<int, std::vector<const RailEnd*>> by_mtu;
    for (const RailEnd* end : survey.ends_of(rail))
      if (end->interface != nullptr && end->interface->mtu.ok()) by_mtu[*end->interface->mtu].push_back(end);
    if (by_mtu.empty()) return verdict.not_applicable("no end of this rail could be read");
    std::vector<std::string> groups;
    std::vector<ShellCommand> commands;
    const int largest = by_mtu.rbegin()->first;
    for (const auto& [value, ends] : by_mtu) {
      std::vector<std::string_view> names;
      for (const RailEnd* end : ends) {
        verdict.seen(end->interface->mtu);
        names.push_back(*end->node);
        if (by_mtu.size() > 1) verdict.touch("node:" + *end->node);
        // In datagram mode the kernel takes no more (rdma.ipoib-mode-equal).
        const bool datagram = end->infiniband() && end->interface->ipoib_mode.value_or("") == "datagram";
        if (value != largest && (!datagram || largest <= kLargestDatagram))
          for (const ShellCommand& set : set_mtu_with(*end, largest))
            commands.push_back(command("{}  # on {}", set, *end->node));
      }
      groups.push_back(fmt::format("{} on {}", value, fmt::join(names, ", ")));
    }
    if (by_mtu.size() == 1) return verdict.pass(std::to_string(largest));
    verdict.fail(
        {.message = fmt::format("the ends of {} differ in MTU ({}): small messages pass, large ones vanish",
                                rail.name, fmt::join(groups, "; ")),
         .expected = "the same at every end",
         .observed = fmt::format("{}", fmt::join(groups, "; ")),
         .remedy = {"Set the larger one at every end, and on the switch.", std::move(commands)}});
  });
}

bool is_loopback(const NetInterface& interface) {
  constexpr int kArphrdLoopback = 772;  // linux/if_arp.h
  return interface.link_type.value_or(0) == kArphrdLoopback;
}

std::string addresses_text(const std::vector<InterfaceAddress>& addresses) {
  std::vector<std::string> texts;
  for (const InterfaceAddress& address : addresses)
    if (!address.address.is_link_local())
      texts.push_back(fmt::format("{}/{}", address.address.to_text(), address.prefix));
  return texts.empty() ? "no address" : fmt::format("{}", fmt::join(texts, ", "));
}

// Returns true if the interface has the address. A loopback interface covers the whole subnet of each of its
// addresses, so 127.0.0.2 need not be added.
bool holds(const NetInterface& interface, const std::vector<InterfaceAddress>& addresses,
           const IpAddress& wanted) {
  return std::ranges::any_of(addresses, [&](const InterfaceAddress& address) {
    if (address.address == wanted) return true;
    const auto subnet = Subnet::of(address.address, address.prefix);
    return is_loopback(interface) && subnet && subnet->contains(wanted);
  });
}

// Returns the remedy for a missing address. If another interface has it, that must be cleared up first: two
// holders are worse than none.
Remedy give_address_once(const Survey& survey, const RailEnd& end) {
  Remedy remedy = give_address(end);
  for (const NodeView& node : survey.nodes)
    for (const NetInterface& other : items(node.facts->net.interfaces)) {
      if (is_loopback(other) || held_as(other, *end.port->address).empty()) continue;
      return {.text = fmt::format(
                  "{} of {} has it now: find out which of the two it belongs to before you add it.",
                  other.name, *node.name),
              .by_hand_only = true};
    }
  return remedy;
}

void address(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [&](Case& verdict, const RailEnd& end) {
    if (!end.port->address) return verdict.not_applicable("cluster.yaml gives this end no address");
    if (verdict.lacks_interface(end)) return;
    const auto* addresses = verdict.read(end.interface->addresses);
    if (addresses == nullptr) return;
    if (holds(*end.interface, *addresses, *end.port->address))
      return verdict.pass(end.port->address->to_text());
    const std::string want = end.address_text();
    verdict.fail({.message = fmt::format("{} lacks its address {} (it has {})", end.where(), want,
                                         addresses_text(*addresses)),
                  .expected = want,
                  .observed = addresses_text(*addresses),
                  .remedy = give_address_once(survey, end)});
  });
}

Remedy replace_address(const RailEnd& end, const IpAddress& wrong) {
  if (!may_lose_address(*end.facts, end.interface))
    return {
        "Give it its address in the rail's subnet; not over a connection through this interface, "
        "which carries more than the rail."};
  Remedy remedy{"Give it its address in the rail's subnet; connections to the old one are cut.",
                take_address_with(*end.interface, wrong)};
  if (end.port->address)
    remedy.commands.push_back(command("ip address add {} dev {}", end.address_text(), end.name));
  return remedy;
}

void subnet(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (!end.rail->subnet) return verdict.not_applicable("the rail has no subnet");
    if (verdict.lacks_interface(end)) return;
    const auto* addresses = verdict.read(end.interface->addresses);
    if (addresses == nullptr) return;
    const Subnet& want = *end.rail->subnet;
    std::vector<const InterfaceAddress*> others;
    bool right = false;
    for (const InterfaceAddress& each : *addresses) {
      if (each.address.is_link_local() || each.address.is_v4() != want.network().is_v4()) continue;
      const auto own = Subnet::of(each.address, each.prefix);
      const bool fits = want.contains(each.address) && own && *own == want;
      right = right || fits;
      if (!fits) others.push_back(&each);
    }
    if (right) return verdict.pass(want.to_text());
    if (others.empty()) return verdict.not_applicable("it has no address");
    const std::string have = fmt::format("{}/{}", others.front()->address.to_text(), others.front()->prefix);
    verdict.fail(
        {.message = fmt::format("{} has {}, which is not in the subnet {} of {}: its peers cannot reach it",
                                end.where(), have, want.to_text(), end.rail->name),
         .expected = want.to_text(),
         .observed = have,
         .remedy = replace_address(end, others.front()->address)});
  });
}

// Groups the node's interfaces by the subnets of their addresses. Empty if the interfaces could not be read,
// which net.interface reports.
std::map<Subnet, std::vector<const NetInterface*>> interfaces_by_subnet(const NodeView& node) {
  std::map<Subnet, std::vector<const NetInterface*>> by_subnet;
  for (const NetInterface& interface : items(node.facts->net.interfaces)) {
    if (!interface.addresses.ok() || is_loopback(interface)) continue;
    for (const InterfaceAddress& each : *interface.addresses) {
      const auto found = Subnet::of(each.address, each.prefix);
      if (!found || each.address.is_link_local()) continue;
      auto& members = by_subnet[*found];
      if (std::ranges::find(members, &interface) == members.end()) members.push_back(&interface);
    }
  }
  return by_subnet;
}

void judge_subnet(Case& verdict, const NodeView& node, const Subnet& net,
                  const std::vector<const NetInterface*>& members) {
  verdict.seen(members.front()->addresses);
  if (members.size() == 1) return verdict.pass(members.front()->name);
  std::vector<std::string_view> names;
  for (const NetInterface* member : members) names.push_back(member->name);
  verdict.fail({.message = fmt::format("{} of {} share {}: the kernel answers for both on one of them, "
                                       "and RDMA leaves by the wrong port",
                                       fmt::join(names, " and "), *node.name, net.to_text()),
                .expected = "one interface in each subnet",
                .observed = fmt::format("{}", fmt::join(names, " ")),
                .remedy = {"Give each rail a subnet of its own, in cluster.yaml and on every node."}});
}

void one_interface_a_subnet(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    if (node.ends.empty()) continue;
    for (const auto& [net, members] : interfaces_by_subnet(node)) {
      Things touches = touches_of_ends(node, [&names = members](const RailEnd& end) {
        return std::ranges::find(names, end.interface) != names.end();
      });
      if (touches.empty()) continue;  // no rail uses the subnet
      Case verdict = judge.on(node, net.to_text(), std::move(touches));
      judge_subnet(verdict, node, net, members);
    }
  }
}

// Returns the remedy for an address that several ends hold: those to which cluster.yaml gives another address
// give it up. If cluster.yaml gives it to no end or to several, the remedy cannot name the right one.
Remedy part_holders(const IpAddress& address, const std::vector<const RailEnd*>& holders) {
  const auto owns = [&](const RailEnd* end) {
    return end->address() != nullptr && *end->address() == address;
  };
  const auto owners = std::ranges::count_if(holders, owns);
  if (owners > 1) return {"cluster.yaml gives it to several: correct it there, then on the nodes."};
  if (owners == 0) return {"Find out whose it is; give each node the address that cluster.yaml says."};
  Remedy remedy{
      "Take it from those to whom cluster.yaml gives another; their connections through it are cut."};
  for (const RailEnd* end : holders) {
    if (owns(end) || !may_lose_address(*end->facts, end->interface)) continue;
    for (const ShellCommand& take : take_address_with(*end->interface, address))
      remedy.commands.push_back(command("{}  # on {}", take, *end->node));
    if (end->address() != nullptr && held_as(*end->interface, *end->address()).empty())
      remedy.commands.push_back(
          command("ip address add {} dev {}  # on {}", end->address_text(), end->name, *end->node));
  }
  return remedy;
}

void judge_holders(Case& verdict, const IpAddress& address, const std::vector<const RailEnd*>& holders) {
  if (holders.size() == 1) return verdict.pass(*holders.front()->node);
  std::vector<std::string> names;
  for (const RailEnd* end : holders) {
    verdict.seen(end->interface->addresses);
    verdict.touch("node:" + *end->node);
    for (const std::string& thing : end->touches)
      if (thing.starts_with("rail:")) verdict.touch(thing);
    names.push_back(fmt::format("{} ({})", *end->node, end->name));
  }
  verdict.fail({.message = fmt::format("{} is used by {}: answers go to one of them at random",
                                       address.to_text(), fmt::join(names, " and ")),
                .expected = "one holder",
                .observed = fmt::format("{}", fmt::join(names, ", ")),
                .remedy = part_holders(address, holders)});
}

void duplicate_address(const Survey& survey, Judge& judge) {
  std::map<IpAddress, std::vector<const RailEnd*>> holders;
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends)
      if (end.interface != nullptr && end.interface->addresses.ok() && !is_loopback(*end.interface))
        for (const InterfaceAddress& each : *end.interface->addresses)
          if (!each.address.is_link_local()) holders[each.address].push_back(&end);
  for (const auto& [held, ends] : holders) {
    Case verdict = judge.on_cluster(held.to_text());
    judge_holders(verdict, held, ends);
  }
}

}  // namespace

std::span<const Rule> address_rules() {
  static const Rule kRules[] = {
      {.id = "net.mtu",
       .title = "rail interface has its MTU",
       .why = "RDMA packets carry 4096 bytes only when the interface takes 4200 or more; "
              "at 1500 they carry 1024 and each costs the same work.",
       .source = "/sys/class/net/*/mtu",
       .standard = "the rail's mtu in cluster.yaml (9000 on RoCE by default)",
       .remedy = "ip link set mtu, and the network configuration.",
       .fixture = "v100-mtu-1500",
       .explained_by = {"net.vlan-mtu", "net.interface"},
       .settings = {"network/rails", "opensm/partition"},
       .check = mtu},
      {.id = "net.mtu-equal",
       .title = "ends of a rail have the same MTU",
       .why =
           "With unequal ends pings and small messages pass while large RDMA writes die with transport error 12.",
       .source = "/sys/class/net/*/mtu of every end",
       .standard = "equal",
       .remedy = "Set the larger one everywhere; prove it with ping -M do -s 8972.",
       .fixture = "v100-mtu-one-sided",
       .explained_by = {"net.mtu", "rdma.ipoib-mode-equal"},
       .check = mtu_equal},
      {.id = "net.subnet",
       .title = "rail address is in the rail's subnet",
       .why = "An address outside the subnet has no route to its peers on this rail: "
              "RDMA fails with no path, TCP takes another way round.",
       .source = "ip -j address show",
       .standard = "the rail's subnet in cluster.yaml",
       .remedy = "Replace the address.",
       .fixture = "v100-wrong-subnet",
       .explained_by = {"net.interface", "net.bond-under-rdma"},
       .check = subnet},
      {.id = "net.address",
       .title = "rail interface has its address",
       .why = "Without it the rail has no route and RoCE no GID.",
       .source = "ip -j address show",
       .standard = "the address that cluster.yaml gives this end",
       .remedy = "ip address add, and the network configuration.",
       .fixture = "v100-address-missing",
       .explained_by = {"net.duplicate-address", "net.bond-under-rdma", "net.subnet", "net.interface",
                        "net.admin-up"},
       .settings = {"network/rails"},
       .check = address},
      {.id = "net.one-subnet",
       .title = "one interface a subnet",
       .why = "With two interfaces in one subnet the kernel answers ARP for both on either: "
              "traffic leaves by one port while the other idles, and RDMA's return path breaks.",
       .source = "ip -j address show",
       .standard = "each subnet on one interface of a node",
       .remedy = "Give each rail a subnet of its own.",
       .fixture = "v100-one-subnet-twice",
       .explained_by = {"net.subnet"},
       .check = one_interface_a_subnet},
      {.id = "net.duplicate-address",
       .title = "no address is used twice",
       .why = "Two holders of one address steal each other's traffic, now one, now the other.",
       .source = "ip -j address show of every node",
       .standard = "each rail address on one node",
       .remedy = "Correct the node that is wrong.",
       .fixture = "v100-duplicate-address",
       .explained_by = {"net.subnet"},
       .check = duplicate_address},
  };
  return kRules;
}

}  // namespace railbed
