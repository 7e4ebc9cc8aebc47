// Access to a node: its firewall, and the names of nodes and rails.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "facts/readings.h"
#include "model/firewall_path.h"
#include "settings/hosts_lines.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

bool has_address(const RailEnd& end) { return end.address() != nullptr; }

// Returns the other ends of the rail; the rail's subnet if they are many or unknown.
std::vector<Subnet> senders_to(const Survey& survey, const RailEnd& end) {
  constexpr std::size_t kMostSenders = 64;
  std::vector<Subnet> senders;
  for (const RailEnd* other : survey.ends_of(*end.rail))
    if (has_address(*other) && *other->address() != *end.address())
      if (const auto one = Subnet::of(*other->address(), other->address()->is_v4() ? 32 : 128))
        senders.push_back(*one);
  if (end.rail->subnet && (senders.empty() || senders.size() > kMostSenders)) return {*end.rail->subnet};
  return senders;
}

// Returns the ports that NCCL and railbed listen on, which the kernel assigns: ip(7), ip_local_port_range.
PortRange ephemeral_ports(const NodeView& node) {
  constexpr PortRange kLinux{32768, 60999};
  const auto found = node.facts->system.sysctl.find("net.ipv4.ip_local_port_range");
  if (found == node.facts->system.sysctl.end() || !found->second) return kLinux;
  const auto both = words(*found->second);
  if (both.size() != 2) return kLinux;
  return {parse_number<int>(both[0]).value_or(kLinux.first),
          parse_number<int>(both[1]).value_or(kLinux.last)};
}

// Returns true if the firewall applies to RDMA. An adapter takes RoCE's packets before the kernel sees them;
// rxe runs in the kernel.
bool firewall_sees_rdma(const RailEnd& end) {
  return end.wants_rdma() && end.rdma && end.rdma.device->driver.value_or("") == "rxe";
}

// The firewall's verdicts on traffic to a node's rails.
struct FirewallView {
  struct Shut {
    std::string traffic;  // "TCP connections"
    std::vector<std::string> interfaces;
    FirewallAnswer answer;
  };
  std::vector<Shut> shut;
  std::string doubt;
  bool pings = true;
};

void ask_firewall(const Firewall& rules, const Packet& packet, std::string_view traffic, FirewallView& view) {
  FirewallAnswer answer = fate_of(rules, packet);
  if (answer.fate == Fate::kAccepted) return;
  if (packet.protocol == "icmp") {
    view.pings = false;
    return;
  }
  if (answer.fate == Fate::kUncertain) {
    if (view.doubt.empty())
      view.doubt = fmt::format("whether {} get in by {}: {}", traffic, packet.interface, answer.rule);
    return;
  }
  for (auto& one : view.shut)
    if (one.traffic == traffic && one.answer.rule == answer.rule) {
      one.interfaces.push_back(packet.interface);
      return;
    }
  view.shut.push_back({std::string(traffic), {packet.interface}, std::move(answer)});
}

FirewallView view_firewall(const Survey& survey, const NodeView& node, const Firewall& rules) {
  constexpr int kRoce = 4791;  // InfiniBand Architecture, annex A17
  FirewallView view;
  for (const RailEnd& end : node.ends) {
    if (!has_address(end)) continue;
    Packet packet{end.name, senders_to(survey, end), *end.address(), "tcp", ephemeral_ports(node)};
    ask_firewall(rules, packet, "TCP connections", view);
    packet.protocol = "icmp";
    ask_firewall(rules, packet, "pings", view);
    if (!firewall_sees_rdma(end)) continue;
    packet.protocol = "udp";
    packet.ports = {kRoce, kRoce};
    ask_firewall(rules, packet, "RoCE's packets (UDP 4791)", view);
  }
  return view;
}

// Returns true if the name is safe in a command: nft parses its arguments as one text with its own syntax,
// whatever the shell's quoting.
bool is_word_of_nft(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
           c == '.';
  });
}

// Returns the commands in the syntax of the tool that manages these rules; other rules would be gone after
// its next reload.
std::vector<ShellCommand> let_in(const NodeView& node, const Firewall& rules,
                                 const FirewallView::Shut& shut) {
  const FirewallChain& entry = *shut.answer.entry;
  const bool iptables = std::ranges::all_of(entry.name, [](char c) { return c >= 'A' && c <= 'Z'; });
  const Service* firewalld = find_service(node, {"firewalld"});
  const bool zones = firewalld != nullptr && firewalld->active_state == "active";
  const bool ufw = std::ranges::any_of(
      rules.chains, [](const FirewallChain& chain) { return chain.name.starts_with("ufw-"); });
  std::vector<ShellCommand> commands;
  for (const std::string& name : shut.interfaces) {
    if (zones && (iptables || entry.table == "firewalld")) {
      commands.push_back(command("firewall-cmd --zone=trusted --change-interface={}", name));
      commands.push_back(command("firewall-cmd --permanent --zone=trusted --change-interface={}", name));
    } else if (ufw && iptables) {
      commands.push_back(command("ufw allow in on {}", name));
    } else if (!is_word_of_nft(entry.family) || !is_word_of_nft(entry.table) || !is_word_of_nft(entry.name) ||
               !is_word_of_nft(name)) {
      continue;
    } else if (iptables) {
      commands.push_back(command("iptables -t {} -I {} -i {} -j ACCEPT", entry.table, entry.name, name));
    } else {
      commands.push_back(
          command("nft insert rule {} {} {} iifname {} accept", entry.family, entry.table, entry.name, name));
    }
  }
  return commands;
}

void judge_shut(Case& verdict, const NodeView& node, const Firewall& rules, const FirewallView& view) {
  const FirewallView::Shut& shut = view.shut.back();  // RoCE's packets, if they are blocked, too
  const bool roce = shut.traffic != "TCP connections";
  const bool rejects = shut.answer.fate == Fate::kRejected;
  const std::string by = fmt::format("{}", fmt::join(shut.interfaces, ", "));
  verdict.red(
      roce ? Status::kFail : Status::kWarn,
      {.message = fmt::format("{} {} {} that come in by {} ({}): {}", *node.name,
                              rejects ? "rejects" : "drops", shut.traffic, by, shut.answer.rule,
                              roce ? "RDMA over it will not work"
                                   : "NCCL's connections and railbed's TCP measurements will not get in"),
       .expected = "rails are let in",
       .observed = rejects ? "rejected" : "dropped",
       .remedy = {"Let the rails in, now and in the firewall's own files: they are private networks.",
                  let_in(node, rules, shut)}});
}

Things interfaces_of_rails(const NodeView& node) {
  Things touches;
  for (const RailEnd& end : node.ends) touches.add("netdev:" + end.name);
  return touches;
}

void firewall(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "firewall", interfaces_of_rails, [&](Case& verdict, const NodeView& node) {
    if (std::ranges::none_of(node.ends, has_address)) return verdict.not_applicable("no rail with addresses");
    const auto& reading = node.facts->system.firewall;
    verdict.seen(reading);
    if (reading.absent()) return verdict.not_applicable("neither nftables nor iptables here");
    if (needs_root(reading)) return verdict.not_applicable("listing the rules needs root");
    const Firewall* rules = verdict.read(reading);
    if (rules == nullptr) return;
    const FirewallView view = view_firewall(survey, node, *rules);
    if (!view.shut.empty()) return judge_shut(verdict, node, *rules, view);
    if (!view.doubt.empty())
      return verdict.unknown(command("railbed cannot tell {}; `railbed bench tcp` would show", view.doubt));
    verdict.pass(view.pings ? "rails are let in" : "rails are let in; pings are not, or not surely");
  });
}

bool owns(const NodeView& node, const IpAddress& address) {
  for (const NetInterface& interface : items(node.facts->net.interfaces))
    for (const InterfaceAddress& interface_address : items(interface.addresses))
      if (interface_address.address == address) return true;
  return false;
}

bool addresses_known(const NodeView& node) {
  return node.facts->net.interfaces.ok() &&
         std::ranges::any_of(*node.facts->net.interfaces, [](const NetInterface& interface) {
           return interface.addresses.ok() && !interface.addresses->empty();
         });
}

// Names of nodes in a node's hosts file: their number, and the lines that point programs elsewhere.
struct HostNames {
  std::size_t judged = 0;
  std::vector<std::string> wrong;
};

HostNames judge_names(Case& verdict, const Survey& survey, const NodeView& node, const HostsEntry& entry) {
  HostNames found;
  for (const std::string& name : entry.names) {
    const NodeView* owner = survey.find(name);
    // A node's own name may map to itself (Debian's 127.0.1.1).
    if (owner == nullptr || !addresses_known(*owner) || (owner == &node && entry.address.is_loopback()))
      continue;
    ++found.judged;
    if (!entry.address.is_loopback() && owns(*owner, entry.address)) continue;
    found.wrong.push_back(fmt::format("{} {}", entry.address.to_text(), name));
    verdict.touch("node:" + *owner->name);
    for (const RailEnd& end : owner->ends)
      if (has_address(end) && *end.address() == entry.address) verdict.touch(end.touches);
  }
  return found;
}

void hosts_file(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "/etc/hosts", [&](Case& verdict, const NodeView& node) {
    const auto* entries = verdict.read_if_there(node.facts->system.hosts, "not recorded");
    if (entries == nullptr) return;
    HostNames all;
    for (const HostsEntry& entry : *entries) {
      HostNames found = judge_names(verdict, survey, node, entry);
      all.judged += found.judged;
      std::ranges::move(found.wrong, std::back_inserter(all.wrong));
    }
    if (all.judged == 0) return verdict.not_applicable("it names none of the nodes");
    if (all.wrong.empty()) return verdict.pass(fmt::format("{} names", all.judged));
    const std::string wrong = fmt::format("{}", fmt::join(all.wrong, ", "));
    verdict.warn(
        {.message = fmt::format("/etc/hosts of {} sends programs to addresses those nodes do not have: {}",
                                *node.name, wrong),
         .expected = "addresses of the nodes",
         .observed = wrong,
         .remedy = {"Correct the lines; with an address of a rail, names mean the fast network.",
                    {"grep -n . /etc/hosts"}}});
  });
}

// Names in /etc/hosts that map to addresses of rails, on one node.
using NamedAddresses = std::map<std::string, std::set<std::string>, std::less<>>;

struct RailNames {
  HostsTable wanted;                        // NODE-RAIL with the addresses of cluster.yaml
  std::map<IpAddress, std::string> owners;  // node by rail address in cluster.yaml
  std::vector<const Subnet*> subnets;       // subnets of rails whose ends all have an address there
  std::map<std::string, NamedAddresses> of_node = {};  // by node
};

RailNames rails_of(const Cluster& cluster) {
  RailNames names;
  for (const Rail& rail : cluster.rails) {
    bool all = rail.subnet.has_value();
    for (const RailPort& port : rail.ports) {
      if (port.address) {
        names.owners.emplace(*port.address, port.node);
        names.wanted.add(fmt::format("{}-{}", port.node, rail.name), *port.address);
      }
      all = all && port.address;
    }
    if (all) names.subnets.push_back(&*rail.subnet);
  }
  return names;
}

bool is_rail_address(const RailNames& names, const IpAddress& address) {
  return names.owners.contains(address) ||
         std::ranges::any_of(names.subnets, [&](const Subnet* subnet) { return subnet->contains(address); });
}

// Reads the names of rail addresses on each node. The names of nodes themselves are judged by
// host.hosts-file.
RailNames read_rail_names(const Survey& survey) {
  RailNames names = rails_of(survey.evidence.cluster);
  for (const NodeView& node : survey.nodes)
    for (const HostsEntry& entry : items(node.facts->system.hosts))
      if (is_rail_address(names, entry.address))
        for (const std::string& name : entry.names)
          if (survey.find(name) == nullptr) names.of_node[*node.name][name].insert(entry.address.to_text());
  return names;
}

std::string addresses_of(const std::set<std::string>& addresses) {
  return fmt::format("{}", fmt::join(addresses, " and "));
}

const std::string* owner_of(const RailNames& names, const std::string& address) {
  const auto parsed = IpAddress::parse(address);
  const auto found = parsed ? names.owners.find(*parsed) : names.owners.end();
  return found == names.owners.end() ? nullptr : &found->second;
}

// Returns true if the hosts file names rails of other nodes; then it is meant for all of them.
bool names_others(const RailNames& names, const std::string& node, const NamedAddresses& known) {
  return std::ranges::any_of(known, [&](const auto& entry) {
    return std::ranges::any_of(entry.second, [&](const std::string& text) {
      const std::string* owner = owner_of(names, text);
      return owner != nullptr && *owner != node;
    });
  });
}

// Returns the addresses that most nodes give each name, the smallest set on a tie, if cluster.yaml knows the
// addresses.
NamedAddresses meanings_of(const RailNames& names) {
  std::map<std::string, std::map<std::set<std::string>, int>> votes;
  const auto owned = [&](const std::string& text) { return owner_of(names, text) != nullptr; };
  for (const auto& [node, known] : names.of_node) {
    if (!names_others(names, node, known)) continue;
    for (const auto& [name, addresses] : known)
      if (std::ranges::all_of(addresses, owned)) ++votes[name][addresses];
  }
  NamedAddresses meanings;
  for (const auto& [name, sets] : votes)
    meanings[name] = std::ranges::max_element(sets, {}, [](const auto& vote) { return vote.second; })->first;
  return meanings;
}

// Returns true if this node should know the name: a rail of another node, named after that node
// ("gpu01-mesh"). Other names, and a node's names for itself, are up to their author.
bool is_expected(const RailNames& names, const std::string& node, const std::string& name,
                 const std::set<std::string>& addresses) {
  return std::ranges::any_of(addresses, [&](const std::string& text) {
    const std::string* owner = owner_of(names, text);
    return owner != nullptr && *owner != node && name.starts_with(*owner);
  });
}

// Returns what is wrong with a name on a node; "" if nothing is.
std::string fault_of(const RailNames& names, const std::string& node, const NamedAddresses& mine,
                     const std::string& name, const std::set<std::string>& meant) {
  const auto own = mine.find(name);
  if (own == mine.end())
    return is_expected(names, node, name, meant)
               ? fmt::format("{} is missing ({})", name, addresses_of(meant))
               : "";
  for (const std::string& text : own->second)
    if (owner_of(names, text) == nullptr)
      return fmt::format("{} is {}, which cluster.yaml gives to no rail", name, text);
  if (meant == own->second) return "";
  return fmt::format("{} is {}, elsewhere {}", name, addresses_of(own->second), addresses_of(meant));
}

// Names that railbed gives rails (settings/hosts.cc), on one node.
struct OwnNames {
  std::size_t found = 0;
  std::set<std::string> wrong = {};
  std::vector<std::string> faults = {};
};

OwnNames judge_own_names(const RailNames& names, const std::vector<HostsEntry>& entries) {
  OwnNames own;
  for (const HostsEntry& entry : entries)
    for (const std::string& name : entry.names) {
      const std::vector<IpAddress>* const wanted = names.wanted.find(name);
      if (wanted == nullptr) continue;
      ++own.found;
      if (!names.wanted.contradicts(name, entry.address)) continue;
      own.wrong.insert(name);
      own.faults.push_back(fmt::format("{} is {}, in cluster.yaml {}", name, entry.address.to_text(),
                                       wanted->front().to_text()));
    }
  return own;
}

void rail_names(const Survey& survey, Judge& judge) {
  const RailNames names = read_rail_names(survey);
  const NamedAddresses meanings = meanings_of(names);
  each_node(survey, judge, "/etc/hosts", [&](Case& verdict, const NodeView& node) {
    const auto* entries = verdict.read_if_there(node.facts->system.hosts, "not recorded");
    if (entries == nullptr) return;
    const OwnNames own = judge_own_names(names, *entries);
    if (meanings.empty() && own.found == 0)
      return verdict.not_applicable("no hosts file names the rails of other nodes");
    const auto found = names.of_node.find(*node.name);
    const NamedAddresses mine = found == names.of_node.end() ? NamedAddresses() : found->second;
    std::vector<std::string> faults = own.faults;
    for (const auto& [name, meant] : meanings) {
      if (own.wrong.contains(name)) continue;
      if (std::string fault = fault_of(names, *node.name, mine, name, meant); !fault.empty())
        faults.push_back(std::move(fault));
    }
    if (faults.empty()) return verdict.pass(fmt::format("{} names", std::max(mine.size(), own.found)));
    const std::string observed = fmt::format("{}", fmt::join(faults, "; "));
    verdict.warn(
        {.message = fmt::format("/etc/hosts of {} disagrees about the rails: {}", *node.name, observed),
         .expected = "the same names on every node, with cluster.yaml's addresses",
         .observed = observed,
         .remedy = {.text = "Give every node the same lines, unless names come from DNS there.",
                    .commands = {"grep -n . /etc/hosts"},
                    .by_hand_only = own.faults.empty()}});
  });
}

}  // namespace

std::span<const Rule> reach_rules() {
  static const Rule kRules[] = {
      {.id = "host.firewall",
       .title = "firewall lets the rails in",
       .why =
           "An adapter's RDMA passes by the firewall. NCCL's start-up, its sockets and software RDMA do not: "
           "jobs hang at init.",
       .source = "nft -j list ruleset, iptables-save (root)",
       .standard =
           "a new TCP connection to a port of net.ipv4.ip_local_port_range, by each rail from its peers, "
           "is accepted by every chain on its way; with rxe UDP 4791 as well",
       .remedy = "Let the rails in.",
       .fixture = "v100-firewall",
       .explained_by = {},
       .check = firewall},
      {.id = "host.hosts-file",
       .title = "hosts file gives nodes their addresses",
       .why =
           "Launchers and PyTorch find nodes by name; a stale line sends them elsewhere, or to themselves.",
       .source = "/etc/hosts, compared with the nodes' addresses",
       .standard = "each node's name stands for an address it has, and not for loopback on other nodes",
       .remedy = "Correct /etc/hosts.",
       .fixture = "v100-hosts-stale",
       .explained_by = {"net.address", "net.subnet"},
       .check = hosts_file},
      {.id = "host.rail-names",
       .title = "hosts files agree on the rails' names",
       .why =
           "A name of a rail that means another node, or nothing, on one node sends a launcher astray there.",
       .source = "/etc/hosts of every node, compared with the rails' addresses",
       .standard = "names for addresses of rails that one node has for another are the same on all, "
                   "and their addresses are in cluster.yaml; no line gives NODE-RAIL another address than it",
       .remedy = "Give every node the same lines.",
       .fixture = "spark-rail-names",
       .explained_by = {},
       .settings = {"hosts/names"},
       .check = rail_names},
  };
  return kRules;
}

}  // namespace railbed
