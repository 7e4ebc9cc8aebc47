#include "campaign/change/propose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"

// Finds rails in three steps. First, every interface that may carry a rail becomes a candidate; management
// interfaces, bond and bridge members and container bridges do not. Second, candidates in the same subnet
// form a group, RDMA-capable ones apart from others; InfiniBand ports without an address are grouped by their
// position on each node. Third, groups with fewer than two ports are dropped (if there are several nodes), as
// are groups without RDMA if any group has it, and subnets that overlap an earlier group on the same node.
// Each remaining group is a rail, with the MTU and the speed that all its ports share.
//
// Cables that were seen (model/cables.h) add groups of ports without addresses, which get a subnet of their own;
// if some ports of a cable have addresses, the others get theirs in the same subnet.
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
  std::optional<Subnet> subnet = {};
  std::vector<ProposedPort> ports = {};
  std::optional<CableKind> cable = {};  // of a group that a cable made
  int largest_mtu = 0;                  // that all its ports accept; 0: not known
  bool rdma() const {
    return std::ranges::any_of(ports, [](const ProposedPort& port) { return static_cast<bool>(port.rdma); });
  }
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

bool is_reached_by(const NetInterface& interface, const std::vector<IpAddress>& reached) {
  return std::ranges::any_of(items(interface.addresses), [&](const InterfaceAddress& address) {
    return std::ranges::find(reached, address.address) != reached.end();
  });
}

// True if ssh uses this interface and the node has no default route, which would otherwise mark the
// management network.
bool is_way_of_ssh(const NetInterface& interface, const Net& net, const std::vector<IpAddress>& reached) {
  return items(net.default_routes).empty() && is_reached_by(interface, reached);
}

std::vector<IpAddress> reached_at(const SshAddresses& reached, const std::string& node) {
  const auto found = reached.find(node);
  return found == reached.end() ? std::vector<IpAddress>() : found->second;
}

bool has_own_address(const NetInterface& interface) {
  return std::ranges::any_of(items(interface.addresses), [](const InterfaceAddress& address) {
    return !address.address.is_link_local();
  });
}

constexpr int kFastMbps = 10000;

// True for a port of an adapter that is fast, or whose speed is not known because it is not connected.
bool is_fast_port(const NetInterface& interface) {
  const int mbps = interface.speed_mbps.value_or(0);
  return interface.link_type.value_or(1) == 1 && interface.pci_address.ok() &&
         !interface.name.starts_with("wl") && (mbps <= 0 || mbps >= kFastMbps);
}

// Returns true if a word names the interface: "ens6", or "gpu1:ens6".
bool is_name_of(std::string_view word, const std::string& node, const std::string& interface) {
  return word == interface || word == node + ":" + interface;
}

ProposedPort candidate_of(std::size_t node, const Facts& facts, const NetInterface& interface) {
  ProposedPort candidate{node, &interface, rdma_port_of(facts.rdma, facts.net, interface.name), {}, {}};
  if (interface.addresses)
    if (const InterfaceAddress* chosen = rail_address(*interface.addresses)) {
      candidate.address = chosen->address;
      candidate.subnet = Subnet::of(chosen->address, chosen->prefix);
    }
  return candidate;
}

// Forgets an address that the machine gave itself, because it does not show where the cable leads.
void forget_link_local(ProposedPort& port) {
  if (!port.address || !port.address->is_link_local()) return;
  port.address.reset();
  port.subnet.reset();
}

std::vector<ProposedPort> candidates_of(std::size_t node, const Facts& facts,
                                        const std::vector<IpAddress>& reached) {
  std::vector<ProposedPort> found;
  if (!facts.net.interfaces) return found;
  for (const NetInterface& interface : *facts.net.interfaces) {
    if (!may_carry_a_rail(interface, facts.net) || is_way_of_ssh(interface, facts.net, reached)) continue;
    found.push_back(candidate_of(node, facts, interface));
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
  const auto with_rdma = std::ranges::find_if(
      group.ports, [](const ProposedPort& port) { return static_cast<bool>(port.rdma); });
  const ProposedPort& first = with_rdma == group.ports.end() ? group.ports.front() : *with_rdma;
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

constexpr int kJumbo = 9000;

// Returns the MTU for a rail of Ethernet that a cable made: the present one if it is jumbo, else the largest up
// to 9000.
std::optional<int> cabled_mtu(const Group& group, std::optional<int> present) {
  if (group.largest_mtu == 0 || (present && *present >= kJumbo)) return present;
  return std::min(kJumbo, group.largest_mtu);
}

// Returns "rxe" or "siw" as in src/facts/rdma.h; empty for hardware.
std::string software_driver(const ProposedPort& port) {
  const std::string driver = port.rdma ? port.rdma.device->driver.value_or("") : "";
  return driver == "rxe" || driver == "siw" ? driver : "";
}

std::string software_driver_of(const Group& group) {
  for (const ProposedPort& port : group.ports)
    if (const std::string driver = software_driver(port); !driver.empty()) return driver;
  return "";
}

Rail rail_of(const Group& group, std::string name, const std::vector<Node>& nodes) {
  Rail rail;
  rail.name = std::move(name);
  rail.fabric = fabric_of(group);
  rail.rdma_driver = rail.fabric == Fabric::kRoce ? software_driver_of(group) : "";
  rail.subnet = group.subnet;
  // Two ports are most often connected by a cable. The facts cannot show it, and only the picture depends on
  // it.
  rail.topology =
      nodes.size() == 2 && rail.fabric != Fabric::kInfiniband ? Topology::kBackToBack : Topology::kSwitch;
  if (group.cable && rail.fabric != Fabric::kInfiniband)
    rail.topology = *group.cable == CableKind::kDirect ? Topology::kBackToBack : Topology::kSwitch;
  auto mtu = shared(group.ports, [](const ProposedPort& port) { return port.interface->mtu.to_optional(); });
  if (group.cable && rail.fabric != Fabric::kInfiniband) mtu = cabled_mtu(group, mtu);
  if (mtu && *mtu >= 1280 && *mtu <= 65520) rail.mtu = mtu;
  rail.speed = shared(
      group.ports, [&](const ProposedPort& port) { return speed_of(port, !software_driver(port).empty()); });
  for (const ProposedPort& port : group.ports)
    rail.ports.push_back({nodes[port.node].name, port.interface->name, port.address});
  return rail;
}

// Returns the groups that are rails: those with RDMA if there are any, and those with several nodes if there
// are several. Cables between ports that a person named stay.
std::vector<Group> choose(std::vector<Group> groups, std::size_t nodes, bool named) {
  std::erase_if(groups, [&](const Group& group) { return nodes > 1 && group.ports.size() < 2; });
  if (std::any_of(groups.begin(), groups.end(), [](const Group& group) { return group.rdma(); }))
    std::erase_if(groups, [&](const Group& group) { return !group.rdma() && !(named && group.cable); });
  else if (nodes == 1)
    groups.clear();  // an ordinary interface of a single machine is no rail
  return groups;
}

bool overlap(const Group& group, const Group& two) {
  if (!group.subnet || !two.subnet || !overlap(*group.subnet, *two.subnet)) return false;
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

// The part of a proposal that follows cables.
class CableProposer {
 public:
  CableProposer(const std::vector<Node>& nodes, const std::map<std::string, Facts>& facts,
                const CablesSeen& cables, Proposal& proposal)
      : nodes_(nodes), facts_(facts), cables_(cables), proposal_(proposal) {
    proposal_.cabling = find_cabling(cables_);
    for (const std::string& note : proposal_.cabling.notes) proposal_.notes.push_back(note);
  }

  // Adds a group for each cable that no group of `groups` holds yet.
  void add_groups(std::vector<Group>& groups) {
    for (const CableLink& link : proposal_.cabling.links)
      for (const std::vector<CablePort>& rail : link.rails) add_group(link, rail, groups);
    for (const Group& group : groups)
      if (!group.cable) note_contradiction(group);
  }

  // Gives each group of a cable a subnet, and each of its ports an address.
  void add_addresses(std::vector<Group>& groups) const {
    const auto wants_subnet = [](const Group& group) { return group.cable && !group.subnet; };
    const auto count = static_cast<std::size_t>(std::ranges::count_if(groups, wants_subnet));
    const std::vector<Subnet> free = free_subnets(taken(groups), count, nodes_.size());
    auto next = free.begin();
    for (Group& group : groups) {
      if (!group.cable) continue;
      if (!group.subnet && next != free.end()) group.subnet = *next++;
      if (group.subnet) fill(group);
    }
    if (free.size() < count)
      proposal_.notes.push_back(
          "no private subnet is free on all nodes: write subnets and addresses yourself");
  }

  void describe(const Group& group, const Rail& rail) const {
    if (!group.cable) return;
    std::vector<std::string> ends;
    for (const RailPort& port : rail.ports) ends.push_back(CablePort{port.node, port.interface}.to_text());
    proposal_.cables.push_back(fmt::format("{}: {} ({})", rail.name, fmt::join(ends, " - "),
                                           *group.cable == CableKind::kDirect ? "one cable" : "one switch"));
  }

  // Returns true if a rail follows the port's cable, so its position does not count.
  bool is_on_a_rail(const ProposedPort& port) const {
    const CablePort own{nodes_[port.node].name, port.interface->name};
    return std::ranges::any_of(proposal_.cabling.links, [&](const CableLink& link) {
      return std::ranges::any_of(link.rails, [&](const std::vector<CablePort>& rail) {
        return std::ranges::find(rail, own) != rail.end();
      });
    });
  }

 private:
  const ListeningPort* end_of(const CablePort& port) const {
    const auto found = std::ranges::find(cables_.ends, port, &ListeningPort::port);
    return found == cables_.ends.end() ? nullptr : &*found;
  }

  std::optional<ProposedPort> proposed(const CablePort& port) const {
    const auto node = std::ranges::find(nodes_, port.node, &Node::name);
    const auto facts = facts_.find(port.node);
    if (node == nodes_.end() || facts == facts_.end()) return std::nullopt;
    const NetInterface* const interface = find_interface(facts->second.net, port.interface);
    if (interface == nullptr) return std::nullopt;
    ProposedPort made =
        candidate_of(static_cast<std::size_t>(node - nodes_.begin()), facts->second, *interface);
    forget_link_local(made);
    return made;
  }

  void add_group(const CableLink& link, const std::vector<CablePort>& rail, std::vector<Group>& groups) {
    Group group{.cable = rail.size() == 2 && link.kind == CableKind::kDirect ? CableKind::kDirect
                                                                             : CableKind::kSwitch};
    std::set<Subnet> subnets;
    std::vector<std::string> addresses;
    std::size_t bare = 0;
    for (const CablePort& port : rail) {
      auto made = proposed(port);
      if (!made) return;
      if (made->subnet) {
        subnets.insert(*made->subnet);
        addresses.push_back(fmt::format("{} has {}", port.to_text(), made->address->to_text()));
      } else {
        ++bare;
      }
      group.ports.push_back(*std::move(made));
    }
    group.largest_mtu = largest_mtu_of(rail);
    if (subnets.size() > 1) {
      proposal_.notes.push_back(
          fmt::format("{} are cabled together, and their addresses are in different subnets ({}): "
                      "correct one of them, or remove them all and run init again",
                      link.to_text(), fmt::join(addresses, ", ")));
      return;
    }
    if (bare == 0) return;  // the subnet has made the group
    if (!subnets.empty()) {
      group.subnet = *subnets.begin();
      std::erase_if(groups, [&](const Group& other) { return !other.cable && other.subnet == group.subnet; });
    }
    groups.push_back(std::move(group));
  }

  int largest_mtu_of(const std::vector<CablePort>& rail) const {
    int smallest = 0;
    for (const CablePort& port : rail) {
      const ListeningPort* const end = end_of(port);
      if (end == nullptr || end->largest_mtu == 0) return 0;
      smallest = smallest == 0 ? end->largest_mtu : std::min(smallest, end->largest_mtu);
    }
    return smallest;
  }

  const CableLink* link_of(const CablePort& port) const {
    for (const CableLink& link : proposal_.cabling.links)
      if (std::ranges::find(link.ports, port) != link.ports.end()) return &link;
    return nullptr;
  }

  // Notes two ports that share a subnet but no cable, if one of them has a cable.
  void note_contradiction(const Group& group) {
    for (const ProposedPort& one : group.ports)
      for (const ProposedPort& other : group.ports) {
        const CablePort port{nodes_[one.node].name, one.interface->name};
        const CablePort peer{nodes_[other.node].name, other.interface->name};
        const CableLink* const link = link_of(port);
        if (one.node == other.node || link == nullptr || end_of(peer) == nullptr ||
            std::ranges::find(link->ports, peer) != link->ports.end())
          continue;
        proposal_.notes.push_back(fmt::format("{} and {} share {}, but the cables contradict: {}",
                                              port.to_text(), peer.to_text(), group.subnet->to_text(),
                                              link->to_text()));
        return;
      }
  }

  std::vector<Subnet> taken(const std::vector<Group>& groups) const {
    std::vector<Subnet> all;
    for (const auto& [node, facts] : facts_)
      for (const NetInterface& interface : items(facts.net.interfaces))
        for (const InterfaceAddress& address : items(interface.addresses))
          if (const auto subnet = Subnet::of(address.address, address.prefix);
              subnet && address.address.is_v4())
            all.push_back(*subnet);
    for (const auto& [node, routes] : cables_.routes) all.insert(all.end(), routes.begin(), routes.end());
    for (const Group& group : groups)
      if (group.subnet) all.push_back(*group.subnet);
    return all;
  }

  // A node has the same last number on every rail if it is free: its position among the nodes.
  void fill(Group& group) const {
    std::set<IpAddress> used;
    for (const auto& [node, facts] : facts_)
      for (const NetInterface& interface : items(facts.net.interfaces))
        for (const InterfaceAddress& address : items(interface.addresses)) used.insert(address.address);
    for (ProposedPort& port : group.ports) {
      if (port.address) continue;
      auto address = group.subnet->network().plus(static_cast<std::uint32_t>(port.node) + 1);
      while (address && group.subnet->contains(*address) && used.contains(*address))
        address = address->plus(1);
      if (!address || !group.subnet->contains(*address) || *address == group.subnet->last()) continue;
      used.insert(*address);
      port.address = address;
      port.subnet = group.subnet;
    }
  }

  const std::vector<Node>& nodes_;
  const std::map<std::string, Facts>& facts_;
  const CablesSeen& cables_;
  Proposal& proposal_;
};

// Proposes the first node of an InfiniBand rail as the host of OpenSM if its ports are connected and no subnet
// manager has given any of them an address.
void propose_subnet_manager(const std::vector<Group>& groups, std::vector<Node>& nodes,
                            std::vector<std::string>& notes) {
  const ProposedPort* first = nullptr;
  for (const Group& group : groups)
    for (const ProposedPort& port : group.ports) {
      if (!port.rdma || port.rdma.port->link_layer.value_or("") != "InfiniBand") continue;
      const bool waits = port.rdma.port->physical_state.value_or("") == "LinkUp" &&
                         port.rdma.port->sm_lid.ok() && *port.rdma.port->sm_lid == 0;
      if (!waits) return;  // one has a manager, or this is not known
      if (first == nullptr) first = &port;
    }
  if (first == nullptr) return;
  Node& host = nodes[first->node];
  host.expect.subnet_manager = true;
  notes.push_back(
      fmt::format("no subnet manager answers on InfiniBand: {} is proposed to run opensm, and `railbed "
                  "apply` sets it up",
                  host.name));
}

std::string why_no_rail(std::size_t nodes, const CablesSeen& cables) {
  if (nodes == 1) return "no RDMA port with an address was found: there is no rail";
  if (cables.ends.empty())
    return "no two nodes share a subnet beside the one that ssh or the default route uses: there is no rail";
  return "no two nodes share a subnet beside the one that ssh or the default route uses, and no cable between "
         "ports of two nodes was seen: there is no rail";
}

}  // namespace

Result<std::vector<CableAsk>> ports_to_ask(const std::vector<Node>& nodes,
                                           const std::map<std::string, Facts>& facts,
                                           const SshAddresses& reached,
                                           const std::vector<std::string>& named) {
  std::vector<CableAsk> asks;
  std::set<std::string> found_names;
  for (const Node& node : nodes) {
    const auto found = facts.find(node.name);
    if (found == facts.end()) continue;
    const Facts& own = found->second;
    const auto by_ssh = reached_at(reached, node.name);
    const auto is_management = [&](const NetInterface& interface) {
      return has_default_route(own.net, interface.name) || is_reached_by(interface, by_ssh);
    };
    const auto is_rdma = [&](const NetInterface& interface) {
      return may_carry_a_rail(interface, own.net) && !is_management(interface) &&
             find_vlan(own.net, interface.name) == nullptr &&
             static_cast<bool>(rdma_port_of(own.rdma, own.net, interface.name));
    };
    const bool any_rdma = std::ranges::any_of(items(own.net.interfaces), is_rdma);
    for (const NetInterface& interface : items(own.net.interfaces)) {
      if (interface.link_type.value_or(1) == kLoopbackLink) continue;
      bool wanted =
          named.empty() && (any_rdma ? is_rdma(interface)
                                     : may_carry_a_rail(interface, own.net) && is_fast_port(interface) &&
                                           find_vlan(own.net, interface.name) == nullptr);
      for (const std::string& word : named)
        if (is_name_of(word, node.name, interface.name)) found_names.insert(word), wanted = true;
      const bool management = is_management(interface);
      if (wanted || management)
        asks.push_back({{node.name, interface.name}, management, has_own_address(interface)});
    }
  }
  for (const std::string& word : named)
    if (!found_names.contains(word))
      return fail(ErrorKind::kBadInput,
                  fmt::format("--ports: no node that answered has an interface \"{}\"", printable(word)));
  return asks;
}

Proposal propose_cluster(std::vector<Node> nodes, const std::map<std::string, Facts>& facts,
                         const SshAddresses& reached, const CablesSeen& cables) {
  Proposal proposal;
  std::vector<ProposedPort> candidates;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto found = facts.find(nodes[i].name);
    if (found == facts.end()) continue;
    nodes[i].expect = expectations_of(found->second);
    for (ProposedPort& candidate : candidates_of(i, found->second, reached_at(reached, nodes[i].name)))
      candidates.push_back(std::move(candidate));
  }
  CableProposer by_cable(nodes, facts, cables, proposal);
  for (ProposedPort& candidate : candidates)
    if (by_cable.is_on_a_rail(candidate)) forget_link_local(candidate);
  std::vector<Group> groups = group_by_subnet(candidates, proposal.notes, nodes);
  by_cable.add_groups(groups);
  std::erase_if(candidates, [&](const ProposedPort& port) { return by_cable.is_on_a_rail(port); });
  for (Group& bare : group_bare_infiniband(candidates)) groups.push_back(std::move(bare));
  groups = without_overlaps(choose(std::move(groups), nodes.size(), cables.named), proposal.notes);
  by_cable.add_addresses(groups);
  propose_subnet_manager(groups, nodes, proposal.notes);
  for (const Group& group : groups) {
    Rail rail = rail_of(group, fmt::format("rail{}", proposal.cluster.rails.size()), nodes);
    note_mtu(group, rail, proposal.notes);
    by_cable.describe(group, rail);
    if (group.ports.size() < nodes.size())
      proposal.notes.push_back(fmt::format("{} ({}): {} of {} nodes are on it", rail.name,
                                           rail.subnet ? rail.subnet->to_text() : "no addresses",
                                           group.ports.size(), nodes.size()));
    if (!rail.mtu && rail.fabric == Fabric::kRoce) rail.mtu = 9000;
    proposal.cluster.rails.push_back(std::move(rail));
  }
  if (groups.empty())
    proposal.notes.push_back(why_no_rail(nodes.size(), cables));
  else if (std::ranges::none_of(groups, &Group::rdma))
    proposal.notes.push_back(
        "no RDMA device was found: the rails are plain Ethernet, and only TCP can be measured on them");
  note_what_differs(nodes, proposal.notes);
  proposal.cluster.nodes = std::move(nodes);
  return proposal;
}

}  // namespace railbed
