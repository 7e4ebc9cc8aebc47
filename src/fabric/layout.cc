#include "fabric/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/wording.h"

namespace railbed {
namespace {

// Hosts are cabled alike if at least this share of those beside a host have a
// device on the same leaf.
constexpr double kMostOfThem = 2.0 / 3;

// A leaf has at least one HCA for so many cables to switches. A server or two
// on a spine, as subnet managers are, do not make it a leaf.
constexpr int kUplinksAnHca = 8;

bool is_leaf(const IbFabric& fabric, const IbNode& node) {
  int hcas = 0, switches = 0;
  for (const IbPort& port : node.ports)
    if (port.peer) {
      hcas += fabric.at(port.peer).is_hca();
      switches += fabric.at(port.peer).is_switch();
    }
  return hcas > 0 && hcas * kUplinksAnHca >= switches;
}

// Returns the level of each node: 0 for HCAs, 1 for leaves; for other switches,
// by a breadth-first search from all leaves, one more than the nearest switch
// below; -1 if the search does not reach it.
std::vector<int> levels_of(const IbFabric& fabric) {
  std::vector<int> level(fabric.nodes.size(), -1);
  std::deque<int> next;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n) {
    if (fabric.nodes[n].is_hca()) level[n] = 0;
    if (!fabric.nodes[n].is_switch() || !is_leaf(fabric, fabric.nodes[n])) continue;
    level[n] = 1;
    next.push_back(static_cast<int>(n));
  }
  while (!next.empty()) {
    const auto here = static_cast<std::size_t>(next.front());
    next.pop_front();
    for (const IbPort& port : fabric.nodes[here].ports) {
      if (!port.peer || !fabric.at(port.peer).is_switch()) continue;
      const auto there = static_cast<std::size_t>(port.peer.node);
      if (level[there] >= 0) continue;
      level[there] = level[here] + 1;
      next.push_back(port.peer.node);
    }
  }
  return level;
}

// True if all cables between switches go up or down, never between two of one
// level or to one without a level.
bool is_tree(const IbFabric& fabric, const std::vector<int>& level) {
  bool tree = true;
  each_cable(fabric, [&](const IbEnd& end, const IbEnd& other) {
    if (!fabric.at(end).is_switch() || !fabric.at(other).is_switch()) return;
    const int a = level[static_cast<std::size_t>(end.node)];
    const int b = level[static_cast<std::size_t>(other.node)];
    if (a < 0 || b < 0 || a == b) tree = false;
  });
  return tree;
}

// Finds groups. Where some cables between switches go up or down, what these join is a group. Else two switches
// of one level are of one group if they share half of their neighbours: within a group all do, across groups few or
// none. Groups of one switch, and a single group, are none.
void find_groups(const IbFabric& fabric, IbLayout& layout) {
  layout.group.assign(fabric.nodes.size(), -1);
  std::map<int, std::set<int>> beside;
  std::vector<std::pair<int, int>> vertical;
  each_cable(fabric, [&](const IbEnd& end, const IbEnd& other) {
    if (!fabric.at(end).is_switch() || !fabric.at(other).is_switch() || end.node == other.node) return;
    if (layout.level[static_cast<std::size_t>(end.node)] !=
        layout.level[static_cast<std::size_t>(other.node)])
      return vertical.emplace_back(end.node, other.node), void();
    beside[end.node].insert(other.node);
    beside[other.node].insert(end.node);
  });
  if (beside.empty()) return;
  std::vector<int> root(fabric.nodes.size());
  for (std::size_t n = 0; n < root.size(); ++n) root[n] = static_cast<int>(n);
  const auto root_of = [&](int n) {
    while (root[static_cast<std::size_t>(n)] != n)
      n = root[static_cast<std::size_t>(n)] =
          root[static_cast<std::size_t>(root[static_cast<std::size_t>(n)])];
    return n;
  };
  const auto unite = [&](int a, int b) {
    a = root_of(a), b = root_of(b);
    root[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  };
  for (const auto& [a, b] : vertical) unite(a, b);
  if (vertical.empty())
    for (const auto& [a, near] : beside)
      for (const int b : near) {
        const std::set<int>& others = beside.at(b);
        const auto shared = std::ranges::count_if(near, [&](int one) { return others.contains(one); });
        if (2 * static_cast<std::size_t>(shared) + 1 >= std::min(near.size(), others.size()) && shared > 0)
          unite(a, b);
      }
  std::map<int, int> sizes;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    if (fabric.nodes[n].is_switch()) ++sizes[root_of(static_cast<int>(n))];
  if (sizes.size() < 2 || std::ranges::any_of(sizes, [](const auto& size) { return size.second < 2; }))
    return;
  std::map<int, int> numbers;
  for (const auto& [first, size] : sizes) numbers.emplace(first, static_cast<int>(numbers.size()));
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    if (fabric.nodes[n].is_switch()) layout.group[n] = numbers.at(root_of(static_cast<int>(n)));
  layout.groups = static_cast<int>(numbers.size());
}

// A host's HCAs: device → node and leaf. Hosts are alike if they have the same
// devices.
struct HostPorts {
  std::vector<std::string> devices;  // in order
  std::vector<int> nodes, leaves;    // by device
};

// Returns the hosts of which every HCA names its device and is cabled to a
// leaf.
std::vector<HostPorts> hosts_of(const IbFabric& fabric, const std::vector<int>& level) {
  std::map<std::string, std::map<std::string, std::pair<int, int>>> found;
  std::set<std::string> unclear;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n) {
    const IbNode& node = fabric.nodes[n];
    if (!node.is_hca()) continue;
    const std::string device = device_of(node);
    const auto port = std::ranges::find_if(node.ports, [](const IbPort& one) { return bool(one.peer); });
    const bool clear =
        !device.empty() && port != node.ports.end() && level[static_cast<std::size_t>(port->peer.node)] == 1;
    if (!clear ||
        !found[host_of(node)].emplace(device, std::pair{static_cast<int>(n), port->peer.node}).second)
      unclear.insert(host_of(node));
  }
  std::vector<HostPorts> hosts;
  for (const auto& [host, ports] : found) {
    if (ports.size() < 2 || unclear.contains(host)) continue;
    HostPorts& added = hosts.emplace_back();
    for (const auto& [device, place] : ports) {
      added.devices.push_back(device);
      added.nodes.push_back(place.first);
      added.leaves.push_back(place.second);
    }
  }
  return hosts;
}

// Returns the hosts that are cabled beside `host`: with the same devices, and
// to at least half of its leaves. A leaf has at most kMostIbPorts HCAs, so this
// looks at a bounded number of hosts. Returns none if most hosts there have as
// many devices and name them otherwise: then a name is the number that a device
// had at a boot ("HCA-7"), and does not tell one rail from another.
std::vector<int> hosts_beside(const std::vector<HostPorts>& hosts, std::size_t host,
                              const std::map<int, std::set<int>>& hosts_by_leaf) {
  const std::set<int> leaves(hosts[host].leaves.begin(), hosts[host].leaves.end());
  std::map<int, std::size_t> shared;
  for (const int leaf : leaves)
    for (const int other : hosts_by_leaf.at(leaf)) ++shared[other];
  std::vector<int> beside;
  std::size_t named_otherwise = 0;
  for (const auto& [other, count] : shared) {
    if (static_cast<std::size_t>(other) == host || 2 * count < leaves.size()) continue;
    const std::vector<std::string>& devices = hosts[static_cast<std::size_t>(other)].devices;
    if (devices == hosts[host].devices)
      beside.push_back(other);
    else if (devices.size() == hosts[host].devices.size())
      ++named_otherwise;
  }
  if (named_otherwise > beside.size()) beside.clear();
  return beside;
}

// Finds where the hosts beside each host have each of its devices.
void find_rails(const IbFabric& fabric, IbLayout& layout) {
  layout.leaf_devices.resize(fabric.nodes.size());
  layout.usual_leaf.assign(fabric.nodes.size(), -1);
  layout.usual_votes.assign(fabric.nodes.size(), 0);
  const std::vector<HostPorts> hosts = hosts_of(fabric, layout.level);
  std::map<int, std::set<int>> hosts_by_leaf;
  for (std::size_t h = 0; h < hosts.size(); ++h)
    for (const int leaf : hosts[h].leaves) hosts_by_leaf[leaf].insert(static_cast<int>(h));
  std::map<int, std::set<std::string>> devices;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    const std::vector<int> beside = hosts_beside(hosts, h, hosts_by_leaf);
    for (std::size_t d = 0; d < hosts[h].devices.size(); ++d) {
      std::map<int, int> votes;
      for (const int other : beside) ++votes[hosts[static_cast<std::size_t>(other)].leaves[d]];
      const auto most = std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
      if (most == votes.end() || most->second < kMostOfThem * static_cast<double>(beside.size())) continue;
      layout.usual_leaf[static_cast<std::size_t>(hosts[h].nodes[d])] = most->first;
      layout.usual_votes[static_cast<std::size_t>(hosts[h].nodes[d])] = most->second;
      devices[most->first].insert(hosts[h].devices[d]);
    }
  }
  std::set<std::set<std::string>> kinds;
  for (const auto& [leaf, names] : devices) {
    layout.leaf_devices[static_cast<std::size_t>(leaf)].assign(names.begin(), names.end());
    kinds.insert(names);
  }
  layout.rails = kinds.size() > 1;
}

}  // namespace

IbLayout layout_of(const IbFabric& fabric) {
  IbLayout layout;
  layout.level = levels_of(fabric);
  for (const int level : layout.level) layout.top = std::max(layout.top, level);
  find_rails(fabric, layout);
  find_groups(fabric, layout);
  const auto switches = std::ranges::count_if(fabric.nodes, &IbNode::is_switch);
  if (switches == 0)
    layout.shape = IbShape::kBackToBack;
  else if (switches == 1)
    layout.shape = IbShape::kOneSwitch;
  else if (layout.top > 1 && is_tree(fabric, layout.level))
    layout.shape = IbShape::kFatTree;
  return layout;
}

std::string describe(const IbFabric& fabric, const IbLayout& layout) {
  const auto switches = std::ranges::count_if(fabric.nodes, &IbNode::is_switch);
  const auto leaves = std::ranges::count(layout.level, 1);
  const std::string rails = layout.rails ? ", in rails" : "";
  switch (layout.shape) {
    case IbShape::kBackToBack:
      return "HCAs without a switch";
    case IbShape::kOneSwitch:
      return "one switch";
    case IbShape::kFatTree:
      return fmt::format("a fat tree of {} levels: {}, {} above {}{}", layout.top,
                         counted(static_cast<std::size_t>(leaves), "leaf", "leaves"), switches - leaves,
                         leaves == 1 ? "it" : "them", rails);
    case IbShape::kOther:
      break;
  }
  return fmt::format("{} switches{}, no tree{}", switches,
                     layout.groups > 0 ? fmt::format(" in {} groups", layout.groups) : "", rails);
}

RoutingAdvice routing_for(const IbLayout& layout) {
  switch (layout.shape) {
    case IbShape::kBackToBack:
    case IbShape::kOneSwitch:
      return {"minhop", "there is one way between two ports, so the default does"};
    case IbShape::kFatTree:
      return {"ftree or updn",
              "both go up and then down, which cannot deadlock; "
              "ftree spreads shifts evenly"};
    case IbShape::kOther:
      break;
  }
  return {"updn or nue", "loops of switches deadlock under minhop"};
}

}  // namespace railbed
