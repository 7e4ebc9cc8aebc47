#include "model/cables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/shell.h"
#include "inventory/hostlist.h"

namespace railbed {
namespace {

// The prefix of rails: the default of NCCL_IB_SUBNET_PREFIX_LEN.
constexpr int kRailPrefix = 24;

bool has_port(const std::vector<CablePort>& ports, const CablePort& port) {
  return std::ranges::find(ports, port) != ports.end();
}

// NetworkManager makes no link-local address on a device that it has not connected.
std::string link_local_hint(const std::string& interface) {
  return fmt::format(
      ". If it has no link-local address, as on a port that NetworkManager has not connected, `{}` makes one until the "
      "next boot",
      shell_line({"sysctl", "-w", fmt::format("net/ipv6/conf/{}/addr_gen_mode=0", interface)}));
}

constexpr std::size_t kMostPlainly = 6;

// Names the ports: many of them by interface, "ens6 of gpu[01-64]; ens7 of gpu[01-64]".
std::string list_of(const std::vector<CablePort>& ports) {
  std::vector<std::string> texts;
  if (ports.size() <= kMostPlainly) {
    for (const CablePort& port : ports) texts.push_back(port.to_text());
    return fmt::format("{}", fmt::join(texts, ", "));
  }
  std::map<std::string, std::vector<std::string>> by_interface;
  for (const CablePort& port : ports) by_interface[port.interface].push_back(port.node);
  for (const auto& [interface, nodes] : by_interface)
    texts.push_back(fmt::format("{} of {}", interface, fold_hostlist(nodes)));
  return fmt::format("{}", fmt::join(texts, "; "));
}

// Ends as a graph: ends are numbered as in CablesSeen, and each group has the number of its first end.
class CableGraph {
 public:
  explicit CableGraph(const std::vector<ListeningPort>& ends) : ends_(ends), group_(ends.size()) {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    for (std::size_t i = 0; i < ends_.size(); ++i)
      for (std::size_t j = i + 1; j < ends_.size(); ++j)
        if (are_joined(i, j)) join(i, j);
  }

  bool hears(std::size_t to, std::size_t from) const { return has_port(ends_[to].heard, ends_[from].port); }
  bool are_joined(std::size_t i, std::size_t j) const {
    return hears(i, j) || hears(j, i) ||
           (has_port(ends_[i].answered, ends_[j].port) && has_port(ends_[j].answered, ends_[i].port));
  }
  // Returns the ends of each group of two or more.
  std::vector<std::vector<std::size_t>> groups() const {
    std::map<std::size_t, std::vector<std::size_t>> all;
    for (std::size_t i = 0; i < ends_.size(); ++i) all[root(i)].push_back(i);
    std::vector<std::vector<std::size_t>> found;
    for (auto& [first, members] : all)
      if (members.size() > 1) found.push_back(std::move(members));
    return found;
  }
  bool is_alone(std::size_t i) const {
    return std::ranges::count_if(group_,
                                 [&, own = root(i)](std::size_t other) { return root(other) == own; }) == 1;
  }

 private:
  std::size_t root(std::size_t i) const {
    while (group_[i] != i) i = group_[i];
    return i;
  }
  // The smaller number stays the root, so groups are in the order of their first ends.
  void join(std::size_t i, std::size_t j) {
    const std::size_t one = root(i);
    const std::size_t other = root(j);
    group_[std::max(one, other)] = std::min(one, other);
  }

  const std::vector<ListeningPort>& ends_;
  std::vector<std::size_t> group_;
};

using CableRails = std::vector<std::vector<CablePort>>;

std::size_t count_nodes(const std::vector<CablePort>& ports) {
  std::set<std::string_view> nodes;
  for (const CablePort& port : ports) nodes.insert(port.node);
  return nodes.size();
}

bool has_node(const std::vector<CablePort>& rail, const CablePort& port) {
  return std::ranges::find(rail, port.node, &CablePort::node) != rail.end();
}

// Divides the ports of a broadcast domain into rails: ports of the same name belong together, and each other
// port goes to the first rail that its node has no port on.
CableRails rails_on(const std::vector<CablePort>& ports) {
  if (count_nodes(ports) == ports.size()) return {ports};
  CableRails rails;
  std::vector<CablePort> others;
  for (const CablePort& port : ports) {
    const auto same_name = [&](const CablePort& other) { return other.interface == port.interface; };
    if (std::ranges::count_if(ports, same_name) < 2) {
      others.push_back(port);
      continue;
    }
    const auto rail = std::ranges::find_if(
        rails, [&](const std::vector<CablePort>& one) { return same_name(one.front()); });
    if (rail == rails.end())
      rails.push_back({port});
    else
      rail->push_back(port);
  }
  for (const CablePort& port : others) {
    const auto rail =
        std::ranges::find_if(rails, [&](const std::vector<CablePort>& one) { return !has_node(one, port); });
    if (rail == rails.end())
      rails.push_back({port});
    else
      rail->push_back(port);
  }
  return rails;
}

class CablingFinder {
 public:
  explicit CablingFinder(const CablesSeen& seen)
      : ends_(seen.ends), udp_port_(seen.udp_port), graph_(seen.ends) {}

  Cabling find() {
    for (const auto& group : graph_.groups()) add_link(group);
    note_crossed();
    for (std::size_t i = 0; i < ends_.size(); ++i)
      if (!ends_[i].management && graph_.is_alone(i)) note_alone(ends_[i]);
    if (!dark_.empty())
      note("no carrier: {}. No cable is there, or its other end is down or off", list_of(dark_));
    if (!lonely_.empty())
      note(
          "carrier, and none of these nodes is heard: {}. The cable leads elsewhere, the other port is down, or "
          "firewalls on both ends drop everything",
          list_of(lonely_));
    if (!strange_.empty())
      note("carrier, and none of these nodes answers but others do: {}. No rail", list_of(strange_));
    if (!cabling_.down.empty())
      note(
          "not up, so nobody can see their cables: {}. --bring-up sets them up for the look, as root, and down "
          "again",
          list_of(cabling_.down));
    return std::move(cabling_);
  }

 private:
  template <class... Values>
  void note(fmt::format_string<Values...> text, Values&&... values) {
    cabling_.notes.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void add_link(const std::vector<std::size_t>& group) {
    CableLink link;
    std::vector<CablePort> management;
    for (const std::size_t i : group) {
      link.ports.push_back(ends_[i].port);
      if (ends_[i].management) management.push_back(ends_[i].port);
    }
    if (management.size() == group.size()) return;  // the management network itself
    if (!management.empty()) {
      link.kind = CableKind::kManagement;
      std::vector<CablePort> rest = link.ports;
      std::erase_if(rest, [&](const CablePort& port) { return has_port(management, port); });
      note("on the management network, no rail: {} ({} is on the same link)", list_of(rest),
           management.front().to_text());
    } else if (count_nodes(link.ports) == 1) {
      link.kind = CableKind::kLoop;
      note("hear each other and no other node, no rail: {}", list_of(link.ports));
    } else {
      link.kind = group.size() == 2 ? CableKind::kDirect : CableKind::kSwitch;
      add_rails(group, link);
    }
    cabling_.links.push_back(std::move(link));
  }

  void add_rails(const std::vector<std::size_t>& group, CableLink& link) {
    for (std::vector<CablePort>& rail : rails_on(link.ports)) {
      if (rail.size() < 2)
        note("has no partner on its link, no rail: {}", list_of(rail));
      else if (const std::string deaf = unheard_on(group, rail); !deaf.empty())
        note("on one link, and yet {}: the switch may keep ports apart, or a cable loses frames. No rail: {}",
             deaf, list_of(rail));
      else
        link.rails.push_back(std::move(rail));
    }
    note_directions(group);
    if (link.rails.size() > 1)
      note(
          "{} rails are in one broadcast domain, each in a subnet of its own: {}. So it is with the two halves of "
          "a DGX Spark's port, and with a switch without VLANs",
          link.rails.size(), list_of(link.ports));
  }

  // Names the first two ports of the rail without a connection; returns nothing if all are connected.
  std::string unheard_on(const std::vector<std::size_t>& group, const std::vector<CablePort>& rail) const {
    for (const std::size_t i : group)
      for (const std::size_t j : group)
        if (i < j && has_port(rail, ends_[i].port) && has_port(rail, ends_[j].port) &&
            !graph_.are_joined(i, j))
          return fmt::format("{} and {} do not hear each other", ends_[i].port.to_text(),
                             ends_[j].port.to_text());
    return "";
  }

  void note_directions(const std::vector<std::size_t>& group) {
    for (const std::size_t i : group)
      for (const std::size_t j : group) {
        if (ends_[i].port.node == ends_[j].port.node || !graph_.are_joined(i, j)) continue;
        if (graph_.hears(i, j) && !graph_.hears(j, i))
          note(
              "{} heard {}, but not the other way: most likely a firewall on {} drops UDP port {}. The cable "
              "is there",
              ends_[i].port.to_text(), ends_[j].port.to_text(), ends_[j].port.node, udp_port_);
        else if (i < j && !graph_.hears(i, j) && !graph_.hears(j, i))
          note(
              "{} and {} answer each other's pings only: firewalls on both drop UDP port {}. A cable is there",
              ends_[i].port.to_text(), ends_[j].port.to_text(), udp_port_);
      }
  }

  // Notes two cables that lead from a port of one name to the port of the other name, and back.
  void note_crossed() {
    std::vector<const CableLink*> direct;
    for (const CableLink& link : cabling_.links)
      if (link.kind == CableKind::kDirect && link.ports[0].interface != link.ports[1].interface)
        direct.push_back(&link);
    for (std::size_t i = 0; i < direct.size(); ++i)
      for (std::size_t j = i + 1; j < direct.size(); ++j) {
        const auto& one = direct[i]->ports;
        const auto& other = direct[j]->ports;
        if (one[0].node == other[0].node && one[1].node == other[1].node &&
            one[0].interface == other[1].interface && one[1].interface == other[0].interface)
          note(
              "the cables between {} and {} are crossed: {} leads to {}, and {} to {}. The rails follow the "
              "cables; exchange two plugs for equal names",
              one[0].node, one[1].node, one[0].to_text(), one[1].to_text(), other[0].to_text(),
              other[1].to_text());
      }
  }

  void note_alone(const ListeningPort& end) {
    const std::string name = end.port.to_text();
    if (end.up == false)
      cabling_.down.push_back(end.port);
    else if (end.carrier == false)
      dark_.push_back(end.port);
    else if (end.ipv6_off)
      note(
          "{}: IPv6 is off on it, and without its link-local address it can neither send nor receive. `{}` until the "
          "look is over would decide it",
          name,
          shell_line({"sysctl", "-w", fmt::format("net/ipv6/conf/{}/disable_ipv6=0", end.port.interface)}));
    else if (end.sent == 0)
      note("{}: nothing could be sent: {}{}", name, end.error.empty() ? "its node did not answer" : end.error,
           end.up == true ? link_local_hint(end.port.interface) : "");
    else if (!end.lldp.empty())
      note("{} has carrier and hears none of these nodes: no rail. LLDP names the other end: {}", name,
           end.lldp);
    else
      (end.strangers > 0 ? strange_ : lonely_).push_back(end.port);
  }

  const std::vector<ListeningPort>& ends_;
  const int udp_port_;
  const CableGraph graph_;
  Cabling cabling_;
  // Ports that hear no node: without carrier, with carrier, and with replies of strangers.
  std::vector<CablePort> dark_;
  std::vector<CablePort> lonely_;
  std::vector<CablePort> strange_;
};

}  // namespace

std::string CablePort::to_text() const { return interface + " of " + node; }

std::string CableLink::to_text() const {
  std::vector<std::string> texts;
  for (const CablePort& port : ports) texts.push_back(port.to_text());
  return fmt::format("{} ({})", fmt::join(texts, " - "), enum_names(kind)[static_cast<std::size_t>(kind)]);
}

Cabling find_cabling(const CablesSeen& seen) { return CablingFinder(seen).find(); }

bool overlap(const Subnet& one, const Subnet& other) {
  return one.contains(other.network()) || other.contains(one.network());
}

std::vector<Subnet> free_subnets(const std::vector<Subnet>& taken, std::size_t count, std::size_t nodes) {
  int prefix = kRailPrefix;
  while (prefix > 16 && (std::size_t{1} << (32 - prefix)) < nodes + 2) --prefix;
  // Private networks (RFC 1918) that few routers and programs use by default, then those for benchmarks
  // (RFC 2544).
  std::vector<Subnet> free;
  for (const char* text : {"10.200.0.0/16", "172.30.0.0/16", "192.168.0.0/16", "198.18.0.0/15"}) {
    const Subnet range = *Subnet::parse(text);
    std::optional<IpAddress> next = range.network();
    for (; next && range.contains(*next) && free.size() < count; next = next->plus(1U << (32 - prefix))) {
      const Subnet subnet = *Subnet::of(*next, prefix);
      if (std::ranges::none_of(taken, [&](const Subnet& other) { return overlap(subnet, other); }))
        free.push_back(subnet);
    }
  }
  return free;
}

}  // namespace railbed
