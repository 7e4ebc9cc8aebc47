#include "campaign/change/propose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

// Finds rails in three steps. First, every interface that may carry a rail becomes a candidate; management
// interfaces, bond and bridge members and container bridges do not. Second, candidates in the same subnet
// form a group, RDMA-capable ones apart from others; InfiniBand ports without an address are grouped by their
// position on each node. Third, groups with fewer than two ports are dropped (if there are several nodes), as
// are groups without RDMA if any group has it, and subnets that overlap an earlier group on the same node.
// Each remaining group is a rail, with the MTU and the speed that all its ports share.
namespace railbed {
namespace {

constexpr int kInfinibandLink = 32;  // ARPHRD_INFINIBAND of linux/if_arp.h
constexpr int kLoopbackLink = 772;   // ARPHRD_LOOPBACK

// An interface that may be a port of a rail.
struct ProposedPort {
  std::size_t node = 0;
  const NetInterface* interface = nullptr;
  RdmaPortRef rdma;
  std::optional<IpAddress> address;
  std::optional<Subnet> subnet;
};

// Candidates that reach each other, at most one per node.
struct Group {
  std::optional<Subnet> subnet;
  std::vector<ProposedPort> ports;
  bool rdma() const { return !ports.empty() && static_cast<bool>(ports.front().rdma); }
};

// True unless the interface has the default route, is a member of a bond or bridge, is loopback, or is a
// bridge of a container engine by its name.
bool may_carry_a_rail(const NetInterface& interface, const Net& net) {
  const bool virtual_bridge = interface.name.starts_with("docker") || interface.name.starts_with("veth") ||
                              interface.name.starts_with("virbr") || interface.name.starts_with("br-");
  return !has_default_route(net, interface.name) && !virtual_bridge && !interface.master.ok() &&
         interface.link_type.value_or(1) != kLoopbackLink;
}

// Returns the address for the rail: global IPv4 before IPv6 before IPv4 link-local; null if there is none.
const InterfaceAddress* rail_address(const std::vector<InterfaceAddress>& addresses) {
  const auto rank = [](const InterfaceAddress& address) {
    if (address.address.is_link_local()) return address.address.is_v4() ? 2 : 3;
    return address.address.is_v4() ? 0 : 1;
  };
  const InterfaceAddress* best = nullptr;
  for (const InterfaceAddress& address : addresses)
    if (best == nullptr || rank(address) < rank(*best)) best = &address;
  // Every interface has an IPv6 link-local address, which does not show what it can reach.
  return best != nullptr && rank(*best) < 3 ? best : nullptr;
}

// True if ssh uses this interface and the node has no default route, which would otherwise mark the
// management network.
bool is_way_of_ssh(const NetInterface& interface, const Net& net, const std::vector<IpAddress>& reached) {
  return items(net.default_routes).empty() &&
         std::ranges::any_of(items(interface.addresses), [&](const InterfaceAddress& address) {
           return std::ranges::find(reached, address.address) != reached.end();
         });
}

std::vector<ProposedPort> candidates_of(std::size_t node, const Facts& facts,
                                        const std::vector<IpAddress>& reached) {
  std::vector<ProposedPort> found;
  if (!facts.net.interfaces) return found;
  for (const NetInterface& interface : *facts.net.interfaces) {
    if (!may_carry_a_rail(interface, facts.net) || is_way_of_ssh(interface, facts.net, reached)) continue;
    ProposedPort candidate{node, &interface, rdma_port_of(facts.rdma, facts.net, interface.name), {}, {}};
    if (interface.addresses)
      if (const InterfaceAddress* chosen = rail_address(*interface.addresses)) {
        candidate.address = chosen->address;
        candidate.subnet = Subnet::of(chosen->address, chosen->prefix);
      }
    found.push_back(std::move(candidate));
  }
  return found;
}

// Groups ports by subnet, RDMA-capable ones apart, in the order of their first port. A node with two
// interfaces in one subnet contributes its first only: a second one would be a finding of its own.
std::vector<Group> group_by_subnet(const std::vector<ProposedPort>& candidates,
                                   std::vector<std::string>& notes, const std::vector<Node>& nodes) {
  std::vector<Group> groups;
  for (const ProposedPort& candidate : candidates) {
    if (!candidate.subnet) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.subnet == candidate.subnet && group.rdma() == static_cast<bool>(candidate.rdma);
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {candidate.subnet, {}});
    const auto there = std::find_if(group->ports.begin(), group->ports.end(), [&](const ProposedPort& port) {
      return port.node == candidate.node || port.address == candidate.address;
    });
    if (there == group->ports.end())
      group->ports.push_back(candidate);
    else if (there->node == candidate.node)
      notes.push_back(fmt::format("{}: {} and {} are both in {}; only the first is on the rail",
                                  nodes[candidate.node].name, there->interface->name,
                                  candidate.interface->name, candidate.subnet->to_text()));
    else
      notes.push_back(fmt::format("{} is on {} and on {}; only the first is on the rail",
                                  candidate.address->to_text(), nodes[there->node].name,
                                  nodes[candidate.node].name));
  }
  return groups;
}

// Groups InfiniBand ports without addresses: the n-th of every node is a rail.
std::vector<Group> group_bare_infiniband(const std::vector<ProposedPort>& candidates) {
  std::vector<Group> groups;
  std::map<std::size_t, std::size_t> position;
  for (const ProposedPort& candidate : candidates) {
    if (candidate.subnet || !candidate.rdma || candidate.interface->link_type.value_or(0) != kInfinibandLink)
      continue;
    const std::size_t n = position[candidate.node]++;
    if (groups.size() <= n) groups.resize(n + 1);
    groups[n].ports.push_back(candidate);
  }
  return groups;
}

// Returns the value that all items have; nothing if one differs or has none.
template <class Items, class Value>
auto shared(const Items& items, Value value) -> decltype(value(*items.begin())) {
  decltype(value(*items.begin())) common;
  for (const auto& item : items) {
    const auto own = value(item);
    if (!own || (common && *common != *own)) return std::nullopt;
    common = own;
  }
  return common;
}

Fabric fabric_of(const Group& group) {
  const ProposedPort& first = group.ports.front();
  const bool infiniband = first.interface->link_type.value_or(1) == kInfinibandLink ||
                          (first.rdma && first.rdma.port->link_layer.value_or("") == "InfiniBand");
  if (infiniband) return Fabric::kInfiniband;
  return first.rdma ? Fabric::kRoce : Fabric::kEthernet;
}

std::optional<BitRate> speed_of(const ProposedPort& port, bool virtual_speed) {
  if (virtual_speed) return std::nullopt;  // a software device's speed is not real
  if (port.rdma && port.rdma.port->rate.value_or({}).bits_per_second > 0) return *port.rdma.port->rate;
  const int mbps = port.interface->speed_mbps.value_or(0);
  if (mbps <= 0 || !port.interface->pci_address.ok()) return std::nullopt;
  return BitRate{mbps * 1e6};
}

// Returns "rxe" or "siw" as in src/facts/rdma.h; empty for hardware.
std::string software_driver(const ProposedPort& port) {
  const std::string driver = port.rdma ? port.rdma.device->driver.value_or("") : "";
  return driver == "rxe" || driver == "siw" ? driver : "";
}

Rail rail_of(const Group& group, std::string name, const std::vector<Node>& nodes) {
  Rail rail;
  rail.name = std::move(name);
  rail.fabric = fabric_of(group);
  rail.rdma_driver = rail.fabric == Fabric::kRoce ? software_driver(group.ports.front()) : "";
  rail.subnet = group.subnet;
  // Two ports are most often connected by a cable. The facts cannot show it, and only the picture depends on
  // it.
  rail.topology =
      nodes.size() == 2 && rail.fabric != Fabric::kInfiniband ? Topology::kBackToBack : Topology::kSwitch;
  const auto mtu =
      shared(group.ports, [](const ProposedPort& port) { return port.interface->mtu.to_optional(); });
  if (mtu && *mtu >= 1280 && *mtu <= 65520) rail.mtu = mtu;
  rail.speed = shared(
      group.ports, [&](const ProposedPort& port) { return speed_of(port, !software_driver(port).empty()); });
  for (const ProposedPort& port : group.ports)
    rail.ports.push_back({nodes[port.node].name, port.interface->name, port.address});
  return rail;
}

// Returns the groups that are rails: those with RDMA if there are any, and those with several nodes if there
// are several.
std::vector<Group> choose(std::vector<Group> groups, std::size_t nodes) {
  std::erase_if(groups, [&](const Group& group) { return nodes > 1 && group.ports.size() < 2; });
  if (std::any_of(groups.begin(), groups.end(), [](const Group& group) { return group.rdma(); }))
    std::erase_if(groups, [](const Group& group) { return !group.rdma(); });
  else if (nodes == 1)
    groups.clear();  // an ordinary interface of a single machine is no rail
  return groups;
}

bool overlap(const Group& group, const Group& two) {
  if (!group.subnet || !two.subnet ||
      !(group.subnet->contains(two.subnet->network()) || two.subnet->contains(group.subnet->network())))
    return false;
  return std::any_of(group.ports.begin(), group.ports.end(), [&](const ProposedPort& port) {
    return std::any_of(two.ports.begin(), two.ports.end(),
                       [&](const ProposedPort& other) { return other.node == port.node; });
  });
}

// Keeps the first of rails whose subnets overlap on a node, since the kernel would confuse them.
std::vector<Group> without_overlaps(std::vector<Group> groups, std::vector<std::string>& notes) {
  std::vector<Group> kept;
  for (Group& group : groups) {
    const auto in_the_way =
        std::find_if(kept.begin(), kept.end(), [&](const Group& one) { return overlap(one, group); });
    if (in_the_way == kept.end())
      kept.push_back(std::move(group));
    else
      notes.push_back(fmt::format("{} overlaps {} and was left out", group.subnet->to_text(),
                                  in_the_way->subnet->to_text()));
  }
  return kept;
}

std::string model_of(const Facts& facts) {
  std::set<std::string> models;
  for (const Gpu& gpu : items(facts.gpus.devices))
    if (gpu.model.ok()) models.insert(*gpu.model);
  return models.size() == 1 ? *models.begin() : "";
}

std::optional<std::string> governor_of(const Facts& facts) {
  const auto governors = facts.system.cpu.governors.value_or({});
  if (governors.size() != 1 || governors.begin()->first != "performance") return std::nullopt;
  return governors.begin()->first;
}

// Returns the current properties of a node that it should keep.
Expectations expectations_of(const Facts& facts) {
  Expectations expect;
  if (const auto devices = facts.gpus.devices; devices.ok() && !devices->empty())
    expect.gpus = static_cast<int>(devices->size());
  if (const std::string model = model_of(facts); !model.empty()) expect.gpu_model = model;
  if (facts.gpus.driver_version.ok()) expect.driver = *facts.gpus.driver_version;
  if (facts.system.os.id.ok() && facts.system.os.version.ok())
    expect.os = *facts.system.os.id + " " + *facts.system.os.version;
  expect.governor = governor_of(facts);
  return expect;
}

void note_what_differs(const std::vector<Node>& nodes, std::vector<std::string>& notes) {
  const auto differs = [&](std::string_view what, auto member) {
    const bool same = std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
      return node.expect.*member == nodes.front().expect.*member;
    });
    if (!same) notes.push_back(fmt::format("nodes differ in {}: each is expected to stay as it is", what));
  };
  if (nodes.empty()) return;
  differs("their number of GPUs", &Expectations::gpus);
  differs("their GPU model", &Expectations::gpu_model);
  differs("their NVIDIA driver", &Expectations::driver);
  differs("their operating system", &Expectations::os);
}

void note_mtu(const Group& group, const Rail& rail, std::vector<std::string>& notes) {
  if (rail.mtu || rail.fabric == Fabric::kInfiniband) return;
  std::vector<std::string> seen;
  for (const ProposedPort& port : group.ports)
    seen.push_back(std::to_string(port.interface->mtu.value_or(0)));
  notes.push_back(fmt::format("{}: the ports' MTUs differ ({}); the rail expects {}", rail.name,
                              fmt::join(seen, ", "), rail.fabric == Fabric::kRoce ? "9000" : "none"));
}

}  // namespace

Proposal propose_cluster(std::vector<Node> nodes, const std::map<std::string, Facts>& facts,
                         const SshAddresses& reached) {
  Proposal proposal;
  std::vector<ProposedPort> candidates;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto found = facts.find(nodes[i].name);
    if (found == facts.end()) continue;
    nodes[i].expect = expectations_of(found->second);
    const auto by_ssh = reached.find(nodes[i].name);
    for (ProposedPort& candidate :
         candidates_of(i, found->second, by_ssh == reached.end() ? std::vector<IpAddress>() : by_ssh->second))
      candidates.push_back(std::move(candidate));
  }
  std::vector<Group> groups = group_by_subnet(candidates, proposal.notes, nodes);
  for (Group& bare : group_bare_infiniband(candidates)) groups.push_back(std::move(bare));
  groups = without_overlaps(choose(std::move(groups), nodes.size()), proposal.notes);
  for (const Group& group : groups) {
    Rail rail = rail_of(group, fmt::format("rail{}", proposal.cluster.rails.size()), nodes);
    note_mtu(group, rail, proposal.notes);
    if (group.ports.size() < nodes.size())
      proposal.notes.push_back(fmt::format("{} ({}): {} of {} nodes are on it", rail.name,
                                           rail.subnet ? rail.subnet->to_text() : "no addresses",
                                           group.ports.size(), nodes.size()));
    if (!rail.mtu && rail.fabric == Fabric::kRoce) rail.mtu = 9000;
    proposal.cluster.rails.push_back(std::move(rail));
  }
  if (groups.empty())
    proposal.notes.push_back(
        nodes.size() == 1
            ? "no RDMA port with an address was found: there is no rail"
            : "no two nodes share a subnet beside the one that ssh or the default route uses: there is no rail");
  else if (std::ranges::none_of(groups, &Group::rdma))
    proposal.notes.push_back(
        "no RDMA device was found: the rails are plain Ethernet, and only TCP can be measured on them");
  note_what_differs(nodes, proposal.notes);
  proposal.cluster.nodes = std::move(nodes);
  return proposal;
}

}  // namespace railbed
