// MTU, addresses, and the GIDs that RoCE makes of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "verify/areas.h"
#include "verify/judge.h"

namespace railbed {
namespace {

void mtu(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      if (end.rail == nullptr) continue;
      Case one = judge.on(end);
      if (one.lacks_interface(end)) continue;
      if (!end.rail->mtu) {
        one.not_applicable("cluster.yaml asks for no MTU on this rail");
        continue;
      }
      const int* have = one.read(end.interface->mtu);
      if (have == nullptr) continue;
      const int want = *end.rail->mtu;
      if (*have == want) {
        one.pass(std::to_string(want));
        continue;
      }
      one.fail({.message = fmt::format("{} of {} has MTU {}, expected {}", end.name, *node.name, *have, want),
                .expected = std::to_string(want),
                .observed = std::to_string(*have),
                .remedy = {"Set it now, and in the network configuration; prove it with a large ping.",
                           {fmt::format("ip link set {} mtu {}", end.name, want)}}});
    }
}

void mtu_equal(const Survey& survey, Judge& judge) {
  for (const Rail& rail : survey.evidence.cluster.rails) {
    std::map<int, std::vector<const RailEnd*>> by_mtu;
    for (const RailEnd* end : survey.ends_of(rail))
      if (end->interface != nullptr && end->interface->mtu.ok()) by_mtu[*end->interface->mtu].push_back(end);
    Case one = judge.on_cluster(rail.name, {"rail:" + rail.name});
    if (by_mtu.empty()) {
      one.not_applicable("no end of this rail could be read");
      continue;
    }
    std::vector<std::string> groups;
    std::vector<std::string> commands;
    const int largest = by_mtu.rbegin()->first;
    for (const auto& [value, ends] : by_mtu) {
      std::vector<std::string_view> names;
      for (const RailEnd* end : ends) {
        one.seen(end->interface->mtu);
        names.push_back(*end->node);
        if (by_mtu.size() > 1) one.touch("node:" + *end->node);
        if (value != largest)
          commands.push_back(fmt::format("ip link set {} mtu {}  # on {}", end->name, largest, *end->node));
      }
      groups.push_back(fmt::format("{} on {}", value, fmt::join(names, ", ")));
    }
    if (by_mtu.size() == 1) {
      one.pass(std::to_string(largest));
      continue;
    }
    one.fail(
        {.message = fmt::format("the ends of {} differ in MTU ({}): small messages pass, large ones vanish",
                                rail.name, fmt::join(groups, "; ")),
         .expected = "the same at every end",
         .observed = fmt::format("{}", fmt::join(groups, "; ")),
         .remedy = {"Set the larger one at every end, and on the switch.", std::move(commands)}});
  }
}

bool is_loopback(const NetInterface& interface) {
  constexpr int kArphrdLoopback = 772;  // linux/if_arp.h
  return interface.link_type.value_or(0) == kArphrdLoopback;
}

std::string addresses_text(const std::vector<InterfaceAddress>& addresses) {
  std::vector<std::string> texts;
  for (const InterfaceAddress& one : addresses)
    if (!one.address.is_link_local())
      texts.push_back(fmt::format("{}/{}", one.address.to_text(), one.prefix));
  return texts.empty() ? "no address" : fmt::format("{}", fmt::join(texts, ", "));
}

int prefix_of(const Rail& rail) { return rail.subnet ? rail.subnet->prefix() : 24; }

// A loopback interface answers for the whole subnet of each address it has: 127.0.0.2 needs no adding.
bool holds(const NetInterface& interface, const std::vector<InterfaceAddress>& addresses,
           const IpAddress& wanted) {
  return std::ranges::any_of(addresses, [&](const InterfaceAddress& one) {
    if (one.address == wanted) return true;
    const auto subnet = Subnet::of(one.address, one.prefix);
    return is_loopback(interface) && subnet && subnet->contains(wanted);
  });
}

void address(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      if (end.port == nullptr) continue;
      Case one = judge.on(end);
      if (!end.port->address) {
        one.not_applicable("cluster.yaml gives this end no address");
        continue;
      }
      if (one.lacks_interface(end)) continue;
      const auto* addresses = one.read(end.interface->addresses);
      if (addresses == nullptr) continue;
      if (holds(*end.interface, *addresses, *end.port->address)) {
        one.pass(end.port->address->to_text());
        continue;
      }
      const std::string want = fmt::format("{}/{}", end.port->address->to_text(), prefix_of(*end.rail));
      one.fail({.message = fmt::format("{} of {} lacks its address {} (it has {})", end.name, *node.name,
                                       want, addresses_text(*addresses)),
                .expected = want,
                .observed = addresses_text(*addresses),
                .remedy = {"Add it now, and to the network configuration.",
                           {fmt::format("ip address add {} dev {}", want, end.name)}}});
    }
}

void subnet(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      if (end.rail == nullptr) continue;
      Case one = judge.on(end);
      if (!end.rail->subnet) {
        one.not_applicable("the rail has no subnet");
        continue;
      }
      if (one.lacks_interface(end)) continue;
      const auto* addresses = one.read(end.interface->addresses);
      if (addresses == nullptr) continue;
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
      if (right || others.empty()) {
        right ? one.pass(want.to_text()) : one.not_applicable("it has no address");
        continue;
      }
      const std::string have =
          fmt::format("{}/{}", others.front()->address.to_text(), others.front()->prefix);
      std::vector<std::string> commands = {fmt::format("ip address del {} dev {}", have, end.name)};
      if (end.port->address)
        commands.push_back(fmt::format("ip address add {}/{} dev {}", end.port->address->to_text(),
                                       want.prefix(), end.name));
      one.fail({.message = fmt::format(
                    "{} of {} has {}, which is not in the subnet {} of {}: its peers cannot reach it",
                    end.name, *node.name, have, want.to_text(), end.rail->name),
                .expected = want.to_text(),
                .observed = have,
                .remedy = {"Give it its address in the rail's subnet.", std::move(commands)}});
    }
}

void one_interface_a_subnet(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    if (node.ends.empty()) continue;
    if (!node.facts->net.interfaces.ok()) continue;  // said by net.interface
    std::map<Subnet, std::vector<const NetInterface*>> by_subnet;
    for (const NetInterface& interface : *node.facts->net.interfaces) {
      if (!interface.addresses.ok() || interface.link_type.value_or(1) == 772) continue;
      for (const InterfaceAddress& each : *interface.addresses) {
        const auto found = Subnet::of(each.address, each.prefix);
        if (!found || each.address.is_link_local()) continue;
        auto& members = by_subnet[*found];
        if (std::ranges::find(members, &interface) == members.end()) members.push_back(&interface);
      }
    }
    for (const auto& [net, members] : by_subnet) {
      Things touches;
      for (const RailEnd& end : node.ends)
        if (std::ranges::find(members, end.interface) != members.end()) touches.add(end.touches);
      if (touches.empty()) continue;  // no rail is concerned
      Case one = judge.on(node, net.to_text(), std::move(touches));
      one.seen(members.front()->addresses);
      if (members.size() == 1) {
        one.pass(members.front()->name);
        continue;
      }
      std::vector<std::string_view> names;
      for (const NetInterface* member : members) names.push_back(member->name);
      one.fail({.message = fmt::format("{} of {} share {}: the kernel answers for both on one of them, "
                                       "and RDMA leaves by the wrong port",
                                       fmt::join(names, " and "), *node.name, net.to_text()),
                .expected = "one interface in each subnet",
                .observed = fmt::format("{}", fmt::join(names, " ")),
                .remedy = {"Give each rail a subnet of its own, in cluster.yaml and on every node."}});
    }
  }
}

void duplicate_address(const Survey& survey, Judge& judge) {
  struct Holder {
    const NodeView* node;
    const RailEnd* end;
  };
  std::map<IpAddress, std::vector<Holder>> holders;
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends)
      if (end.interface != nullptr && end.interface->addresses.ok() && !is_loopback(*end.interface))
        for (const InterfaceAddress& each : *end.interface->addresses)
          if (!each.address.is_link_local()) holders[each.address].push_back({&node, &end});
  for (const auto& [ip, users] : holders) {
    Case one = judge.on_cluster(ip.to_text(), {});
    if (users.size() == 1) {
      one.pass(*users.front().node->name);
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [node, end] : users) {
      one.seen(end->interface->addresses);
      one.touch("node:" + *node->name);
      for (const std::string& thing : end->touches)
        if (thing.starts_with("rail:")) one.touch(thing);
      names.push_back(fmt::format("{} ({})", *node->name, end->name));
    }
    one.fail({.message = fmt::format("{} is used by {}: answers go to one of them at random", ip.to_text(),
                                     fmt::join(names, " and ")),
              .expected = "one holder",
              .observed = fmt::format("{}", fmt::join(names, ", ")),
              .remedy = {"Give each node the address that cluster.yaml says."}});
  }
}

bool is_roce_v2(const Gid& gid) { return gid.type.value_or("") == "RoCE v2"; }

// Ends of which a RoCE GID can be asked, with its port's GID table; else the case has ended.
const std::vector<Gid>* roce_gids(Case& one, const RailEnd& end) {
  if (!end.wants_rdma() || end.infiniband()) {
    one.not_applicable("not a RoCE rail");
    return nullptr;
  }
  if (!end.rdma) {
    one.not_applicable("no RDMA device behind this interface");
    return nullptr;
  }
  return one.read(end.rdma.port->gids);
}

void gid_present(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      const auto* gids = roce_gids(one, end);
      if (gids == nullptr) continue;
      const auto wanted = [&](const Gid& gid) {
        if (!is_roce_v2(gid) || !gid.gid.ok()) return false;
        if (end.port != nullptr && end.port->address) return *gid.gid == *end.port->address;
        return gid.gid->is_v4();
      };
      const auto found = std::ranges::find_if(*gids, wanted);
      if (found != gids->end()) {
        one.pass(fmt::format("index {}", found->index));
        continue;
      }
      const std::string what =
          end.port != nullptr && end.port->address ? end.port->address->to_text() : "an IPv4 address";
      one.fail(
          {.message = fmt::format("{} of {} has no RoCE v2 GID for {}: RDMA has no source address on {}",
                                  end.rdma_name(), *node.name, what, end.name),
           .expected = fmt::format("a RoCE v2 GID for {}", what),
           .observed = fmt::format("{} other GIDs", gids->size()),
           .remedy = {"The kernel makes it from the interface's address: "
                      "bring the interface up and give it its address.",
                      {fmt::format("ip address show dev {}", end.name), "rdma link show",
                       fmt::format("grep . /sys/class/infiniband/{}/ports/{}/gid_attrs/types/* 2>/dev/null",
                                   end.rdma.device->name, end.rdma.port->number)}}});
    }
}

void gid_interface(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      if (end.port == nullptr || !end.port->address) continue;
      Case one = judge.on(end);
      const auto* gids = roce_gids(one, end);
      if (gids == nullptr) continue;
      const auto same = [&](const Gid& gid) {
        return is_roce_v2(gid) && gid.gid.ok() && *gid.gid == *end.port->address;
      };
      const auto found = std::ranges::find_if(*gids, same);
      if (found == gids->end()) {
        one.not_applicable("there is no such GID");
        continue;
      }
      const std::string* netdev = one.read(found->netdev);
      if (netdev == nullptr) continue;
      if (*netdev == end.name) {
        one.pass(*netdev);
        continue;
      }
      one.fail({.message = fmt::format(
                    "the GID of {} on {} belongs to {}, not to {}: RDMA leaves by the wrong interface",
                    end.port->address->to_text(), *node.name, *netdev, end.name),
                .expected = end.name,
                .observed = *netdev,
                .remedy = {"Remove the address where it does not belong.",
                           {fmt::format("ip address del {}/{} dev {}", end.port->address->to_text(),
                                        prefix_of(*end.rail), *netdev)}}});
    }
}

// The largest RDMA MTU that fits into an interface MTU: the kernel takes 96 bytes of headers off first
// (iboe_get_mtu in include/rdma/ib_addr.h).
int roce_mtu_for(int interface_mtu) {
  for (const int size : {4096, 2048, 1024, 512})
    if (interface_mtu - 96 >= size) return size;
  return 256;
}

void active_mtu(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (!end.wants_rdma() || end.infiniband()) {
        one.not_applicable("not a RoCE rail");
        continue;
      }
      if (one.lacks_interface(end)) continue;
      if (!end.rdma) {
        one.not_applicable("no RDMA device behind this interface");
        continue;
      }
      const int* active = one.read_if_there(end.rdma.port->active_mtu, "libibverbs does not list the device");
      if (active == nullptr) continue;
      const int* link = one.read(end.interface->mtu);
      if (link == nullptr) continue;
      const int asked = end.rail != nullptr && end.rail->mtu ? *end.rail->mtu : *link;
      const int want = std::min(roce_mtu_for(asked), end.rdma.port->max_mtu.value_or(4096));
      if (*active >= want) {
        one.pass(std::to_string(*active));
        continue;
      }
      one.fail({.message = fmt::format("{} of {} sends RDMA packets of {} bytes, expected {}: {} has MTU {}",
                                       end.rdma_name(), *node.name, *active, want, end.name, *link),
                .expected = std::to_string(want),
                .observed = std::to_string(*active),
                .remedy = {"Raise the interface's MTU; the RDMA port follows when the link restarts.",
                           {fmt::format("ip link set {} mtu {}", end.name, std::max(asked, 4200)),
                            fmt::format("ip link set {0} down && ip link set {0} up", end.name)}}});
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
       .explained_by = {"net.interface"},
       .check = mtu},
      {.id = "net.mtu-equal",
       .title = "ends of a rail have the same MTU",
       .why =
           "With unequal ends pings and small messages pass while large RDMA writes die with transport error 12.",
       .source = "/sys/class/net/*/mtu of every end",
       .standard = "equal",
       .remedy = "Set the larger one everywhere; prove it with ping -M do -s 8972.",
       .fixture = "v100-mtu-one-sided",
       .explained_by = {"net.mtu"},
       .check = mtu_equal},
      {.id = "net.subnet",
       .title = "rail address is in the rail's subnet",
       .why = "An address outside the subnet has no route to its peers on this rail: "
              "RDMA fails with no path, TCP takes another way round.",
       .source = "ip -j address show",
       .standard = "the rail's subnet in cluster.yaml",
       .remedy = "Replace the address.",
       .fixture = "v100-wrong-subnet",
       .explained_by = {"net.interface"},
       .check = subnet},
      {.id = "net.address",
       .title = "rail interface has its address",
       .why = "Without it the rail has no route and RoCE no GID.",
       .source = "ip -j address show",
       .standard = "the address that cluster.yaml gives this end",
       .remedy = "ip address add, and the network configuration.",
       .fixture = "v100-address-missing",
       .explained_by = {"net.subnet", "net.interface", "net.admin-up"},
       .check = address},
      {.id = "net.one-subnet",
       .title = "one interface a subnet",
       .why = "With two interfaces in one subnet the kernel answers ARP for both on either: "
              "traffic leaves by one port while the other idles, and RDMA's return path breaks.",
       .source = "ip -j address show",
       .standard = "each subnet on one interface of a node",
       .remedy = "A subnet for each rail.",
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
      {.id = "rdma.gid",
       .title = "RoCE v2 GID for the rail's address",
       .why = "A GID is RoCE's source address. Without the right one connections fail at once, "
              "or NCCL takes index 0 (fe80::) and stops with error 12.",
       .source = "/sys/class/infiniband/*/ports/*/{gids,gid_attrs/types}",
       .standard = "a RoCE v2 entry that holds the rail's IPv4 address",
       .remedy = "Bring the interface up with its address; the kernel then makes the GID.",
       .fixture = "v100-gid-missing",
       .explained_by = {"net.address", "net.subnet", "net.admin-up", "rdma.rail-device", "rdma.port-state"},
       .check = gid_present},
      {.id = "rdma.gid-interface",
       .title = "GID belongs to the rail's interface",
       .why = "When a bridge, VLAN or sibling port holds the GID, "
              "RDMA packets leave with the wrong tag or port.",
       .source = "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs",
       .standard = "the rail's interface",
       .remedy = "Remove the address where it does not belong.",
       .fixture = "v100-gid-elsewhere",
       .explained_by = {"net.duplicate-address"},
       .check = gid_interface},
      {.id = "rdma.active-mtu",
       .title = "RDMA packets are as large as they can be",
       .why = "Smaller packets mean more of them: "
              "at 1024 bytes the adapter's packet rate limits before the wire does.",
       .source = "ibv_query_port: active_mtu, max_mtu",
       .standard =
           "the largest power of two that fits the rail's MTU less 96 bytes of headers (kernel iboe_get_mtu)",
       .remedy = "Raise the interface's MTU and restart the link.",
       .fixture = "h100-active-mtu",
       .explained_by = {"net.mtu"},
       .check = active_mtu},
  };
  return kRules;
}

}  // namespace railbed
