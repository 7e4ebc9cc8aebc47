// Converts RawCluster to Cluster: expands ranges, fills in defaults, and checks all values against each
// other.
//
// Nodes come first, because rails refer to them. The expectations of a node are those of its own entry, laid
// over those of the top level, field by field (overlay()). The settings of a rail's link are laid over the
// top level's in the same way, and then defaults apply: RoCE, a switch, and MTU 9000 on RoCE. A range of
// nodes is combined with a range of names of the same length, or with one address that counts up.
//
// An error has the place of the word that caused it. One mistake is reported once: a value that could not be
// read suppresses the errors that would only follow from it, an entry or a rail reports only its first
// duplicate, and without any node the rails are not checked.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "base/partition.h"
#include "base/text.h"
#include "inventory/hostlist.h"
#include "inventory/raw.h"

namespace railbed {
namespace {

constexpr std::size_t kMaxNodes = 40'000;
constexpr std::size_t kMaxRails = 256;
constexpr std::size_t kMaxPorts = 250'000;
constexpr std::size_t kMaxParts = 10'000;
constexpr std::size_t kMaxChecks = 64;
constexpr std::size_t kMaxExports = 256;
constexpr int kMaxCheckSeconds = 600;  // of all checks of a node, one after the other
constexpr int kMaxIpoibMtu = 65520;    // connected mode; Documentation/infiniband/ipoib.rst

// Accepts RFC 1123 names, and the underscore, which is common. The names are used in ssh's arguments and in
// paths.
bool is_name(std::string_view text) {
  constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return !text.empty() && text.size() <= 253 && kFirst.find(text[0]) != std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return kFirst.find(c) != std::string_view::npos || c == '.' || c == '-' || c == '_';
         });
}

// Accepts text that ssh cannot mistake for an option, nor a shell for two words.
bool is_destination(std::string_view text) {
  return !text.empty() && !text.starts_with('-') &&
         text.find_first_of(" \t'\"\\;&|<>$`") == std::string_view::npos;
}

// Accepts an IP address or a host name; it is used in the arguments of programs.
bool is_bmc(std::string_view text) { return IpAddress::parse(text).has_value() || is_name(text); }

// Return `below` with every value replaced that `above` sets.
Expectations overlay(const Expectations& below, const RawExpect& above) {
  Expectations merged = below;
  Expectations::fields([&](std::string_view, auto member) {
    using Member = std::remove_cvref_t<decltype(merged.*member)>;
    if constexpr (!std::is_same_v<Member, double>)
      if (above.values.*member) merged.*member = above.values.*member;
  });
  if (above.fraction_said) merged.fraction_of_ceiling = above.values.fraction_of_ceiling;
  return merged;
}

Configuration overlay(const Configuration& below, const Configuration& above) {
  Configuration merged = below;
  Configuration::fields([&](std::string_view, auto member) {
    if (above.*member) merged.*member = above.*member;
  });
  return merged;
}

struct AddressHash {
  std::size_t operator()(const IpAddress& address) const {
    const auto& bytes = address.bytes();
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
};

class Resolver {
 public:
  Resolver(const RawCluster& raw, std::string_view folder, Complaints& complaints)
      : raw_(raw), folder_(folder), complaints_(complaints) {}

  Cluster resolve();

 private:
  void complain(Spot spot, std::string text) { complaints_.add(spot, std::move(text)); }
  // Returns the names of a pattern; empty after an error.
  std::vector<std::string> expand(const RawPattern& pattern, std::size_t limit);
  // Returns one value for each node of a range: names from a pattern of the same length, or IP addresses
  // counted up from one. Empty after an error.
  std::vector<std::string> expand_beside(const RawPattern& pattern, std::size_t count);
  // Returns a path of cluster.yaml, which is relative to that file's folder; ~ is the user's home.
  std::string beside_file(const std::string& path) const;

  // Adds the nodes of one entry, except repeated names. An invalid name, ssh destination or BMC address
  // rejects the entry.
  void add_nodes(const RawNode& raw);
  bool is_local(const RawNode& raw);
  // Sets the node's management address. An entry's own management_address belongs to its first node, the top
  // level's to the first node of all; the other nodes' addresses count up. Returns false after an error.
  bool count_up_management(const RawNode& raw, std::size_t index, Node& node);
  // Returns the ssh destination with the user of the top level, unless it names one itself.
  std::string with_user(std::string destination) const;

  // Return the indices of the nodes that a pattern names, or of a rail's nodes, which are all by default.
  std::vector<std::size_t> nodes_of(const RawPattern& pattern);
  std::vector<std::size_t> nodes_of(const RawRail& raw);
  // Adds a rail, with its link settings resolved, and checks it.
  void add_rail(const RawRail& raw);
  // Adds the ports of a rail: from `ports`, or one per node from `interface` and `first_address`.
  void add_ports(const RawRail& raw, Rail& rail);
  // Adds the ports of several nodes with one interface name and addresses that count up.
  void add_port_group(const RawRail& raw, Rail& rail, const RawPort& group,
                      const std::vector<std::size_t>& nodes);
  bool check_address(const Rail& rail, const IpAddress& address, Spot spot, const std::string& origin);
  // Checks a rail on its own: subnet, MTU, driver, number of ports, one port per node.
  void check_rail(const RawRail& raw, const Rail& rail);
  void check_against_other_rails();
  // Adds a part with its nodes and rails, which have to exist.
  void add_part(const RawPart& raw);
  // Adds the site's own checks, whose nodes have to exist, and adds up their time on each node.
  void add_checks();
  void add_check(const RawCheck& raw, std::map<std::string, int>& seconds);
  // Adds the exports of storage, whose nodes need an address on the rail.
  void add_storage();
  void add_export(const RawStorage& raw);
  // Reports a server without a device, and clients that cannot reach it. Returns false after an error.
  bool check_reach(const RawStorage& raw, const StorageExport& made, const Rail& rail);
  // Reports an export that another one of the file contradicts. Returns false after an error.
  bool check_against_other_exports(const RawStorage& raw, const StorageExport& made);
  // Returns false after a complaint if a client would reach one NFS server in two ways: the kernel takes one for both.
  bool check_against_other_way(const RawStorage& raw, const StorageExport& made, const StorageExport& other);
  // Returns false after a complaint if a client would mount both at one place, or one within the other.
  bool check_against_other_mount(const RawStorage& raw, const StorageExport& made,
                                 const StorageExport& other);
  // Reports that two rails conflict on a node.
  void check_pair(std::size_t earlier, std::size_t later, const std::string& node, bool same_interface);

  const RawCluster& raw_;
  std::string_view folder_;
  Complaints& complaints_;
  Cluster cluster_;
  std::unordered_map<std::string, std::size_t> node_index_;
  std::unordered_map<std::string, Spot> node_spots_;
  std::unordered_map<std::string, Spot> bmc_spots_;
  std::unordered_map<IpAddress, Spot, AddressHash> address_spots_;
  std::size_t ports_ = 0;
  std::size_t parts_nodes_ = 0;
  std::size_t checked_nodes_ = 0;
  bool nodes_misread_ = false;  // then unknown nodes are not reported
};

std::vector<std::string> Resolver::expand(const RawPattern& pattern, std::size_t limit) {
  auto names = expand_hostlist(pattern.text, limit);
  if (names) return std::move(*names);
  const HostlistError& error = names.error();
  const Spot spot = pattern.inside ? Spot{*pattern.inside + error.offset, error.length} : pattern.spot;
  complain(spot, error.text);
  return {};
}

std::vector<std::string> Resolver::expand_beside(const RawPattern& pattern, std::size_t count) {
  if (const auto first = IpAddress::parse(pattern.text); first && count > 1) {
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < count; ++i) {
      const auto next = first->plus(static_cast<std::uint32_t>(i));
      if (!next) break;
      addresses.push_back(next->to_text());
    }
    if (addresses.size() == count) return addresses;
    complain(pattern.spot, fmt::format("{} addresses do not fit after {}", count, pattern.text));
    return {};
  }
  auto names = expand(pattern, kMaxNodes);
  if (names.empty() || names.size() == count) return names;
  complain(pattern.spot, fmt::format("\"{}\" is {} name{} for {} node{}", pattern.text, names.size(),
                                     names.size() == 1 ? "" : "s", count, count == 1 ? "" : "s"));
  return {};
}

std::string Resolver::beside_file(const std::string& path) const {
  if (path.empty()) return path;
  const char* home = std::getenv("HOME");
  if (home != nullptr && (path == "~" || path.starts_with("~/"))) return home + path.substr(1);
  return (std::filesystem::path(folder_) / path).lexically_normal().string();
}

std::string Resolver::with_user(std::string destination) const {
  if (raw_.ssh_user.empty() || destination.find('@') != std::string::npos) return destination;
  constexpr std::string_view kScheme = "ssh://";
  const std::size_t at = destination.starts_with(kScheme) ? kScheme.size() : 0;
  return destination.insert(at, raw_.ssh_user + "@");
}

// Accepts both forms: `local: true` and `ssh: local`.
bool Resolver::is_local(const RawNode& raw) {
  const bool by_ssh = raw.ssh && raw.ssh->text == "local";
  const bool local = raw.local && raw.local->value;
  if (local && raw.ssh && !by_ssh) complain(raw.ssh->spot, "a node is either local or reached over ssh");
  return local || by_ssh;
}

bool Resolver::count_up_management(const RawNode& raw, std::size_t index, Node& node) {
  auto& address = node.configure.management_address;
  if (!address) return true;
  const bool own = raw.configure.values.management_address.has_value();
  const Spot spot = own ? raw.configure.address_spot : raw_.configure.address_spot;
  const std::size_t further = own ? index : cluster_.nodes.size();
  const auto next = address->address.plus(static_cast<std::uint32_t>(further));
  if (!next) return complain(spot, "the addresses run out before the nodes do"), false;
  Rail network;
  network.name = "the management network";
  network.subnet = Subnet::of(address->address, address->prefix);
  address->address = *next;
  return check_address(network, *next, spot,
                       further == 0 ? "" : fmt::format(" ({}, counted up to {})", node.name, further + 1));
}

void Resolver::add_nodes(const RawNode& raw) {
  const std::size_t room = kMaxNodes - std::min(kMaxNodes, cluster_.nodes.size());
  if (room == 0) return complain(raw.name.spot, fmt::format("more than {} nodes", kMaxNodes));
  const auto names = expand(raw.name, room);
  nodes_misread_ = nodes_misread_ || names.empty() || !is_name(names.front());
  if (names.empty()) return;
  const bool local = is_local(raw);
  const auto destinations = raw.ssh && !local ? expand_beside(*raw.ssh, names.size()) : names;
  const auto bmcs = raw.bmc ? expand_beside(*raw.bmc, names.size()) : std::vector<std::string>{};
  const Expectations expect = overlay(overlay({}, raw_.expect), raw.expect);
  const Configuration configure = overlay(raw_.configure.values, raw.configure.values);
  if (!is_name(names.front()))
    return complain(
        raw.name.spot,
        fmt::format("\"{}\" is no host name: letters, digits, \"-\", \".\" and \"_\"", names.front()));
  if (!destinations.empty() && !is_destination(destinations.front()))
    return complain(raw.ssh->spot, fmt::format("\"{}\" is no ssh destination", destinations.front()));
  if (!bmcs.empty() && !is_bmc(bmcs.front()))
    return complain(raw.bmc->spot,
                    fmt::format("\"{}\" is neither an IP address nor a host name", bmcs.front()));
  bool duplicate = false;  // one error per entry is enough
  bool fine = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Node node{
        .name = names[i], .ssh = {}, .local = local, .bmc = {}, .expect = expect, .configure = configure};
    if (!local && !destinations.empty()) node.ssh = with_user(destinations[i]);
    if (!bmcs.empty()) node.bmc = bmcs[i];
    const auto [first, fresh] = node_spots_.emplace(node.name, raw.name.spot);
    if (!fresh) {
      if (!std::exchange(duplicate, true))
        complain(raw.name.spot, fmt::format("node \"{}\" is named twice, first on line {}", node.name,
                                            complaints_.line_of(first->second)));
      continue;
    }
    if (node.bmc)
      if (const auto [other, only] = bmc_spots_.emplace(*node.bmc, raw.bmc->spot);
          !only && !std::exchange(duplicate, true))
        complain(raw.bmc->spot, fmt::format("the BMC {} is given twice, first on line {}", *node.bmc,
                                            complaints_.line_of(other->second)));
    if (fine) fine = count_up_management(raw, i, node);
    node_index_.emplace(node.name, cluster_.nodes.size());
    cluster_.nodes.push_back(std::move(node));
  }
}

std::vector<std::size_t> Resolver::nodes_of(const RawPattern& pattern) {
  std::vector<std::size_t> indices;
  for (const std::string& name : expand(pattern, kMaxNodes)) {
    const auto found = node_index_.find(name);
    if (found == node_index_.end()) {
      if (nodes_misread_) return {};
      complain(pattern.spot,
               fmt::format("unknown node \"{}\"{}", name, did_you_mean(name, names_of(cluster_.nodes))));
      return {};
    }
    indices.push_back(found->second);
  }
  return indices;
}

std::vector<std::size_t> Resolver::nodes_of(const RawRail& raw) {
  std::vector<std::size_t> indices;
  for (const RawPattern& pattern : raw.nodes) {
    const auto some = nodes_of(pattern);
    indices.insert(indices.end(), some.begin(), some.end());
  }
  if (!raw.nodes.empty()) return indices;
  for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) indices.push_back(i);
  return indices;
}

// Reports an address that is outside the rail's subnet, reserved, or used twice. `origin` explains the
// address if it is not literally in the file.
bool Resolver::check_address(const Rail& rail, const IpAddress& address, Spot spot,
                             const std::string& origin) {
  const std::string text = address.to_text() + origin;
  if (rail.subnet) {
    const std::string subnet = rail.subnet->to_text();
    const bool v4 = address.is_v4();
    // A /31 or /32 has no network and no broadcast address (RFC 3021).
    const bool small = rail.subnet->prefix() >= (v4 ? 31 : 127);
    if (!rail.subnet->contains(address))
      return complain(spot, fmt::format("{} is outside of {}'s subnet {}", text, rail.name, subnet)), false;
    if (!small && address == rail.subnet->network())
      return complain(spot, fmt::format("{} is the address of the subnet {} itself", text, subnet)), false;
    if (!small && v4 && address == rail.subnet->last())
      return complain(spot, fmt::format("{} is the broadcast address of {}", text, subnet)), false;
  }
  const auto [first, fresh] = address_spots_.emplace(address, spot);
  if (!fresh)
    complain(spot,
             fmt::format("{} is given twice, first on line {}", text, complaints_.line_of(first->second)));
  return fresh;
}

void Resolver::add_port_group(const RawRail& raw, Rail& rail, const RawPort& group,
                              const std::vector<std::size_t>& nodes) {
  if (raw.misread && !(group.interface || raw.interface)) return;
  const auto& interface = group.interface ? group.interface : raw.interface;
  if (!interface) return complain(group.nodes.spot, "this port has no \"interface\"");
  if (!is_interface(interface->value))
    return complain(
        interface->spot,
        fmt::format("\"{}\" is no interface name: at most 15 characters, no \"/\"", interface->value));
  if (is_rdma_device(interface->value))
    return complain(
        interface->spot,
        fmt::format("\"{}\" is an RDMA device; \"interface\" is the network interface with the rail's "
                    "address, as ens6: `rdma link` shows which belong together",
                    interface->value));
  if (rail.vlan && !interface->value.ends_with(fmt::format(".{}", *rail.vlan)))
    return complain(interface->spot,
                    fmt::format("on VLAN {0} the interface is named after the one that carries it: "
                                "\"PARENT.{0}\"",
                                *rail.vlan));
  const bool ip = rail.fabric != Fabric::kInfiniband;
  if (!group.address && ip && raw.misread) return;
  if (!group.address && ip)
    return complain(group.nodes.spot,
                    fmt::format("this {}: on {} every port has one",
                                raw.ports_spot ? "port has no \"address\"" : "rail has no \"first_address\"",
                                enum_names(Fabric{})[static_cast<std::size_t>(rail.fabric)]));
  if (group.address && !rail.subnet) return;  // check_rail() reports that once
  if (ports_ + nodes.size() > kMaxPorts)
    return complain(group.nodes.spot, fmt::format("more than {} ports", kMaxPorts));
  ports_ += nodes.size();
  bool fine = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    RailPort port{.node = cluster_.nodes[nodes[i]].name, .interface = interface->value, .address = {}};
    if (group.address && fine) {
      port.address = group.address->value.plus(static_cast<std::uint32_t>(i));
      if (port.address)
        fine = check_address(rail, *port.address, group.address->spot,
                             i == 0 ? "" : fmt::format(" ({}, counted up to {})", port.node, i + 1));
      else
        complain(group.address->spot, "the addresses run out before the nodes do"), fine = false;
    }
    rail.ports.push_back(std::move(port));
  }
}

void Resolver::add_ports(const RawRail& raw, Rail& rail) {
  if (!raw.ports_spot) {
    const auto nodes = nodes_of(raw);
    RawPort all;
    all.nodes.spot = raw.spot;
    all.interface = raw.interface;
    all.address = raw.first_address;
    if (!raw.interface && raw.misread) return;
    if (!raw.interface) return complain(raw.spot, "this rail has neither \"interface\" nor \"ports\"");
    if (!nodes.empty()) add_port_group(raw, rail, all, nodes);
    return;
  }
  if (raw.first_address)
    complain(raw.first_address->spot,
             "\"first_address\" goes with \"interface\"; under \"ports\" say \"address\"");
  if (!raw.nodes.empty()) complain(raw.nodes.front().spot, "\"ports\" already says which nodes the rail has");
  for (const RawPort& group : raw.ports) {
    const auto nodes = nodes_of(group.nodes);
    if (!nodes.empty()) add_port_group(raw, rail, group, nodes);
  }
}

void Resolver::check_rail(const RawRail& raw, const Rail& rail) {
  const bool addressed =
      raw.first_address ||
      std::any_of(raw.ports.begin(), raw.ports.end(), [](const RawPort& port) { return bool(port.address); });
  if (addressed && !raw.subnet && !raw.misread)
    complain(raw.spot, "this rail has addresses and no \"subnet\"");
  const Said<int>& mtu = raw.link.mtu ? raw.link.mtu : raw_.link.mtu;
  if (rail.fabric == Fabric::kInfiniband && mtu && mtu->value > kMaxIpoibMtu)
    complain(mtu->spot, fmt::format("an IPoIB interface's MTU is at most {}", kMaxIpoibMtu));
  const Said<std::string>& driver = raw.link.rdma_driver ? raw.link.rdma_driver : raw_.link.rdma_driver;
  if (rail.fabric != Fabric::kRoce && raw.link.rdma_driver)
    complain(driver->spot, fmt::format("{} needs \"fabric: roce\"", driver->value));
  if (rail.topology == Topology::kBackToBack && rail.ports.size() > 2)
    complain(raw.spot,
             fmt::format("back to back is a cable between two ports; {} has {}: say \"topology: switch\", "
                         "or make each cable a rail",
                         rail.name, rail.ports.size()));
  std::unordered_map<std::string_view, int> seen;
  for (const RailPort& port : rail.ports)
    if (++seen[port.node] == 2)
      return complain(raw.spot, fmt::format("{} has two ports of node \"{}\"", rail.name, port.node));
}

void Resolver::add_rail(const RawRail& raw) {
  Rail rail;
  rail.name = raw.name.value;
  if (!rail.name.empty() && !is_name(rail.name))
    complain(raw.name.spot,
             fmt::format("\"{}\" is no name: letters, digits, \"-\", \".\" and \"_\"", rail.name));
  for (std::size_t i = 0; i < cluster_.rails.size(); ++i)
    if (cluster_.rails[i].name == rail.name && !rail.name.empty())
      complain(raw.name.spot, fmt::format("rail \"{}\" is named twice, first on line {}", rail.name,
                                          complaints_.line_of(raw_.rails[i].name.spot)));
  const RawLink& own = raw.link;
  const RawLink& shared = raw_.link;
  rail.purpose = raw.purpose.value_or(RailPurpose::kCompute);
  rail.fabric = own.fabric.value_or(shared.fabric.value_or(Fabric::kRoce));
  rail.topology = own.topology.value_or(shared.topology.value_or(Topology::kSwitch));
  if (const auto& mtu = own.mtu ? own.mtu : shared.mtu)
    rail.mtu = mtu->value;
  else if (rail.fabric == Fabric::kRoce)
    rail.mtu = 9000;
  if (const auto& speed = own.speed ? own.speed : shared.speed) rail.speed = speed->value;
  if (const auto& vlan = own.vlan ? own.vlan : shared.vlan) rail.vlan = vlan->value;
  if (const auto& driver = own.rdma_driver ? own.rdma_driver : shared.rdma_driver;
      driver && rail.fabric == Fabric::kRoce)
    rail.rdma_driver = driver->value;
  if (raw.subnet) rail.subnet = raw.subnet->value;
  add_ports(raw, rail);
  check_rail(raw, rail);
  cluster_.rails.push_back(std::move(rail));
}

void Resolver::check_pair(std::size_t earlier, std::size_t later, const std::string& node,
                          bool same_interface) {
  const Rail& one = cluster_.rails[earlier];
  const Rail& two = cluster_.rails[later];
  if (same_interface)
    return complain(raw_.rails[later].spot, fmt::format("{} and {} are both on one interface of node \"{}\"",
                                                        one.name, two.name, node));
  complain(raw_.rails[later].subnet->spot,
           fmt::format("{} overlaps {} of {} on node \"{}\": the kernel would answer for either port; "
                       "give each rail a subnet of its own",
                       two.subnet->to_text(), one.subnet->to_text(), one.name, node));
}

// Reports rails that share an interface of a node, or whose subnets overlap on a common node. Compares pairs
// of rails, not pairs of ports on each node: a description of a few lines may have a quarter of a million
// ports. One error per rail is enough.
void Resolver::check_against_other_rails() {
  const auto overlap = [&](std::size_t one, std::size_t two) {
    const auto& a = cluster_.rails[one].subnet;
    const auto& b = cluster_.rails[two].subnet;
    return a && b && (a->contains(b->network()) || b->contains(a->network()));
  };
  std::unordered_map<std::string, std::size_t> rail_at;  // "node interface" → its first rail
  for (std::size_t rail = 0; rail < cluster_.rails.size(); ++rail) {
    bool complained = false;
    std::unordered_map<std::string_view, const RailPort*> port_on;
    for (const RailPort& port : cluster_.rails[rail].ports) {
      port_on.emplace(port.node, &port);
      const auto [first, fresh] = rail_at.emplace(port.node + ' ' + port.interface, rail);
      if (fresh || first->second == rail || std::exchange(complained, true)) continue;
      check_pair(first->second, rail, port.node, true);
    }
    for (std::size_t earlier = 0; earlier < rail && !complained; ++earlier) {
      if (!overlap(earlier, rail)) continue;
      const auto& ports = cluster_.rails[earlier].ports;
      const auto shared =
          std::ranges::find_if(ports, [&](const RailPort& port) { return port_on.contains(port.node); });
      if (shared == ports.end()) continue;
      check_pair(earlier, rail, shared->node, false);
      complained = true;
    }
  }
}

void Resolver::add_part(const RawPart& raw) {
  ClusterPart part = raw.values;
  for (const RawPattern& pattern : raw.nodes)
    for (const std::size_t index : nodes_of(pattern)) part.nodes.push_back(cluster_.nodes[index].name);
  for (const Raw<std::string>& rail : raw.rails) {
    if (find_rail(cluster_, rail.value) != nullptr) {
      part.rails.push_back(rail.value);
      continue;
    }
    complain(rail.spot, fmt::format("unknown rail \"{}\"{}", rail.value,
                                    did_you_mean(rail.value, names_of(cluster_.rails))));
  }
  parts_nodes_ += part.nodes.size();
  if (parts_nodes_ > kMaxPorts)
    return complain(raw.spot, fmt::format("parts name more than {} nodes", kMaxPorts));
  cluster_.parts.push_back(std::move(part));
}

void Resolver::add_check(const RawCheck& raw, std::map<std::string, int>& seconds) {
  SiteCheck check = raw.values;
  check.name = raw.name.value;
  const auto same =
      std::ranges::find(raw_.checks, check.name, [](const RawCheck& one) { return one.name.value; });
  if (&*same != &raw) return complain(raw.name.spot, fmt::format("there are two checks \"{}\"", check.name));
  for (const RawPattern& pattern : raw.nodes)
    for (const std::size_t index : nodes_of(pattern)) check.nodes.push_back(cluster_.nodes[index].name);
  checked_nodes_ += check.nodes.size();
  if (checked_nodes_ > kMaxPorts)
    return complain(raw.spot, fmt::format("checks name more than {} nodes", kMaxPorts));
  int most = seconds[""] += check.nodes.empty() ? check.timeout : 0;
  for (const std::string& node : check.nodes)
    most = std::max(most, seconds[""] + (seconds[node] += check.timeout));
  if (most > kMaxCheckSeconds)
    return complain(raw.spot, fmt::format("the checks of a node may take {} s together, and these {} s",
                                          kMaxCheckSeconds, most));
  cluster_.checks.push_back(std::move(check));
}

void Resolver::add_checks() {
  if (raw_.checks.size() > kMaxChecks)
    complain(raw_.checks[kMaxChecks].spot, fmt::format("more than {} checks", kMaxChecks));
  std::map<std::string, int> seconds;  // by node; "": on all nodes
  for (const bool everywhere : {true, false})
    for (std::size_t i = 0; i < std::min(raw_.checks.size(), kMaxChecks); ++i)
      if (raw_.checks[i].nodes.empty() == everywhere) add_check(raw_.checks[i], seconds);
}

bool Resolver::check_reach(const RawStorage& raw, const StorageExport& made, const Rail& rail) {
  const auto has_address = [&](const std::string& node) {
    const RailPort* const port = find_port(rail, node);
    return port != nullptr && port->address;
  };
  if (is_rdma(made.protocol) && rail.fabric == Fabric::kEthernet)
    return complain(raw.protocol.spot,
                    fmt::format("{} needs RDMA, and {} has \"fabric: ethernet\"; {} runs there",
                                enum_names(made.protocol)[static_cast<std::size_t>(made.protocol)], rail.name,
                                is_nfs(made.protocol) ? "nfs-tcp" : "nvme-tcp")),
           false;
  if (!has_address(made.server))
    return complain(raw.server->spot, fmt::format("{} has no address on {}: clients could not reach it there",
                                                  made.server, rail.name)),
           false;
  for (const std::string& client : made.clients) {
    if (client == made.server)
      return complain(
                 raw.clients.front().spot,
                 fmt::format("{} is the server of \"{}\" and cannot be its client, too", client, made.name)),
             false;
    if (!has_address(client))
      return complain(raw.clients.front().spot, fmt::format("{} has no address on {}, over which \"{}\" runs",
                                                            client, rail.name, made.name)),
             false;
  }
  if (made.clients.size() > 1 && !made.shared && !is_nfs(made.protocol))
    return complain(
               raw.clients.front().spot,
               fmt::format("{} clients write to one device: ext4 and XFS are corrupted by a second one; say "
                           "\"shared: true\" for a file system that is made for it (GFS2, OCFS2, Lustre)",
                           made.clients.size())),
           false;
  return true;
}

bool Resolver::check_against_other_mount(const RawStorage& raw, const StorageExport& made,
                                         const StorageExport& other) {
  if (made.mount.empty() || other.mount.empty() ||
      (!is_within(made.mount, other.mount) && !is_within(other.mount, made.mount)))
    return true;
  for (const std::string& client : made.clients)
    if (std::ranges::find(other.clients, client) != other.clients.end())
      return complain(
                 raw.mount->spot,
                 made.mount == other.mount
                     ? fmt::format("{} mounts \"{}\" at {} already", client, other.name, other.mount)
                     : fmt::format("{} mounts \"{}\" at {}: one of the two lies in the other, and would be "
                                   "hidden or gone with it",
                                   client, other.name, other.mount)),
             false;
  return true;
}

bool Resolver::check_against_other_way(const RawStorage& raw, const StorageExport& made,
                                       const StorageExport& other) {
  if (!is_nfs(made.protocol) || !is_nfs(other.protocol) || made.server != other.server ||
      (made.protocol == other.protocol && made.rail == other.rail))
    return true;
  for (const std::string& client : made.clients)
    if (std::ranges::find(other.clients, client) != other.clients.end())
      return complain(
                 raw.protocol.spot,
                 fmt::format(
                     "{} reaches {} for \"{}\" by {} over {}, and its kernel has one connection to a server "
                     "(NFS 4.1, session trunking): give both the same protocol and rail",
                     client, made.server, other.name,
                     enum_names(other.protocol)[static_cast<std::size_t>(other.protocol)], other.rail)),
             false;
  return true;
}

bool Resolver::check_against_other_exports(const RawStorage& raw, const StorageExport& made) {
  for (const StorageExport& other : cluster_.storage) {
    if (other.name == made.name)
      return complain(raw.name.spot, fmt::format("there are two exports \"{}\"", made.name)), false;
    const auto& source = raw.path ? raw.path : raw.device;
    if (other.server == made.server && source_of(other) == source->value)
      return complain(source->spot, fmt::format("{} exports {} already, as \"{}\"", made.server,
                                                source->value, other.name)),
             false;
    if (!check_against_other_mount(raw, made, other) || !check_against_other_way(raw, made, other))
      return false;
    if (is_nfs(made.protocol) || is_nfs(other.protocol)) continue;
    if (other.server == made.server &&
        (is_partition_of(made.device, other.device) || is_partition_of(other.device, made.device)))
      return complain(raw.device->spot, fmt::format("{} and {}, which \"{}\" exports, share their blocks",
                                                    made.device, other.device, other.name)),
             false;
    // Clients take two paths with one name for one subsystem, and its devices for one device.
    if (other.nqn == made.nqn)
      return complain(raw.nqn ? raw.nqn->spot : raw.name.spot,
                      fmt::format("\"{}\" has this NQN already", other.name)),
             false;
  }
  return true;
}

void Resolver::add_export(const RawStorage& raw) {
  StorageExport made{.name = raw.name.value,
                     .server = raw.server->value,
                     .device = raw.device ? raw.device->value : "",
                     .protocol = raw.protocol.value,
                     .rail = raw.rail->value,
                     .shared = raw.shared && raw.shared->value,
                     .path = raw.path ? raw.path->value : "",
                     .mount = raw.mount ? raw.mount->value : "",
                     .read_only = raw.read_only && raw.read_only->value,
                     .no_root_squash = raw.no_root_squash && raw.no_root_squash->value};
  if (raw.nconnect) made.nconnect = raw.nconnect->value;
  const std::size_t before = complaints_.count();
  if (!node_index_.contains(made.server) && !nodes_misread_)
    complain(raw.server->spot, fmt::format("unknown node \"{}\"{}", made.server,
                                           did_you_mean(made.server, names_of(cluster_.nodes))));
  const Rail* const rail = find_rail(cluster_, made.rail);
  if (rail == nullptr)
    complain(raw.rail->spot, fmt::format("unknown rail \"{}\"{}", made.rail,
                                         did_you_mean(made.rail, names_of(cluster_.rails))));
  for (const RawPattern& pattern : raw.clients)
    for (const std::size_t index : nodes_of(pattern)) {
      const std::string& client = cluster_.nodes[index].name;
      if (std::ranges::find(made.clients, client) == made.clients.end())
        made.clients.push_back(client);
      else
        complain(pattern.spot, fmt::format("client \"{}\" is named twice", client));
    }
  if (complaints_.count() > before || nodes_misread_) return;
  if (made.clients.empty()) return complain(raw.spot, "an export has at least one client");
  if (!is_nfs(made.protocol)) made.nqn = raw.nqn ? raw.nqn->value : default_nqn(made.server, made.name);
  if (made.nqn.size() > kLongestNqn)
    return complain(
        raw.name.spot,
        fmt::format("its NQN would be longer than {} bytes; give a shorter \"nqn\"", kLongestNqn));
  if (!check_reach(raw, made, *rail) || !check_against_other_exports(raw, made)) return;
  made.address = find_port(*rail, made.server)->address;
  cluster_.storage.push_back(std::move(made));
}

void Resolver::add_storage() {
  if (raw_.storage.size() > kMaxExports)
    complain(raw_.storage[kMaxExports].spot, fmt::format("more than {} exports", kMaxExports));
  for (std::size_t i = 0; i < std::min(raw_.storage.size(), kMaxExports); ++i) add_export(raw_.storage[i]);
}

Cluster Resolver::resolve() {
  cluster_.name = raw_.name;
  nodes_misread_ = raw_.nodes_misread;
  cluster_.ssh_config = beside_file(raw_.ssh_config);
  cluster_.bmc = raw_.bmc;
  cluster_.bmc.password_file = beside_file(raw_.bmc.password_file);
  cluster_.bmc.certificates = beside_file(raw_.bmc.certificates);
  for (const RawNode& node : raw_.nodes) add_nodes(node);
  if (raw_.rails.size() > kMaxRails)
    complain(raw_.rails[kMaxRails].spot, fmt::format("more than {} rails", kMaxRails));
  // Rails refer to nodes: without nodes every word of them would be an error.
  if (cluster_.nodes.empty()) return std::move(cluster_);
  for (std::size_t i = 0; i < std::min(raw_.rails.size(), kMaxRails); ++i) add_rail(raw_.rails[i]);
  check_against_other_rails();
  if (raw_.parts.size() > kMaxParts)
    complain(raw_.parts[kMaxParts].spot, fmt::format("more than {} parts", kMaxParts));
  for (std::size_t i = 0; i < std::min(raw_.parts.size(), kMaxParts); ++i) add_part(raw_.parts[i]);
  add_checks();
  add_storage();
  std::ranges::stable_sort(cluster_.parts, {}, &ClusterPart::kind);  // as write_cluster() lists them
  return std::move(cluster_);
}

}  // namespace

Cluster resolve(const RawCluster& raw, std::string_view folder, Complaints& complaints) {
  return Resolver(raw, folder, complaints).resolve();
}

}  // namespace railbed
