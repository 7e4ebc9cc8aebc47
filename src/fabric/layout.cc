#include "fabric/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace railbed {
namespace {

// A subnet has rails if at least this share of its leaves have one device as at least this share of their
// HCAs.
constexpr double kMostOfThem = 2.0 / 3;

// A leaf has at least one HCA for so many cables to switches. A server or two on a spine, as subnet managers
// are, do not make it a leaf.
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

// Returns the level of each node: 0 for HCAs, 1 for leaves; for other switches, by a breadth-first search
// from all leaves, one more than the nearest switch below; -1 if the search does not reach it.
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

// True if all cables between switches go up or down, never between two of one level or to one without a
// level.
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

// Returns the device of most HCAs of a leaf; empty if there is none, or only one HCA.
std::string main_device(const IbFabric& fabric, const IbNode& leaf) {
  std::map<std::string, int> count;
  int all = 0;
  for (const IbPort& port : leaf.ports)
    if (port.peer && fabric.at(port.peer).is_hca()) {
      ++count[device_of(fabric.at(port.peer))];
      ++all;
    }
  for (const auto& [device, many] : count)
    if (!device.empty() && all > 1 && many >= kMostOfThem * all) return device;
  return "";
}

void find_rails(const IbFabric& fabric, IbLayout& layout) {
  layout.leaf_device.resize(fabric.nodes.size());
  std::set<std::string> devices;
  int leaves = 0, pure = 0;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n) {
    if (layout.level[n] != 1) continue;
    ++leaves;
    layout.leaf_device[n] = main_device(fabric, fabric.nodes[n]);
    if (layout.leaf_device[n].empty()) continue;
    ++pure;
    devices.insert(layout.leaf_device[n]);
  }
  layout.rails = devices.size() > 1 && pure >= kMostOfThem * leaves;
}

}  // namespace

IbLayout layout_of(const IbFabric& fabric) {
  IbLayout layout;
  layout.level = levels_of(fabric);
  for (const int level : layout.level) layout.top = std::max(layout.top, level);
  find_rails(fabric, layout);
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
      return fmt::format("a fat tree of {} levels: {} leaves, {} above them{}", layout.top, leaves,
                         switches - leaves, rails);
    case IbShape::kOther:
      break;
  }
  return fmt::format("{} switches, no tree{}", switches, rails);
}

RoutingAdvice routing_for(const IbLayout& layout) {
  switch (layout.shape) {
    case IbShape::kBackToBack:
    case IbShape::kOneSwitch:
      return {"minhop", "there is one way between two ports, so the default does"};
    case IbShape::kFatTree:
      return {"ftree or updn",
              "both go up and then down, which cannot deadlock; ftree spreads shifts evenly"};
    case IbShape::kOther:
      break;
  }
  return {"updn or nue", "loops of switches deadlock under minhop"};
}

}  // namespace railbed
