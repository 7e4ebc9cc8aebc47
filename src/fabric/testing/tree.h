// A fat tree of two levels for tests to break: LEAVES leaves with HCAS HCAs each under SPINES spines, one
// cable to each.
#pragma once

#include <fmt/format.h>

#include "fabric/subnet.h"

namespace railbed::told {

inline IbNode ib_node(IbNodeType type, std::uint64_t guid, int ports, std::string name) {
  IbNode node;
  node.type = type;
  node.guid = node.port_guid = node.system_guid = guid;
  node.vendor = 0x2c9;
  node.device = type == IbNodeType::kSwitch ? 0xd2f0 : 0x101b;
  node.description = std::move(name);
  node.ports.resize(static_cast<std::size_t>(ports) + 1);
  for (int i = 0; i <= ports; ++i) node.ports[static_cast<std::size_t>(i)].number = i;
  return node;
}

inline void plug(IbFabric& fabric, IbEnd ib_end, IbEnd other, IbLink link = {4, IbSpeed::kHdr}) {
  join(fabric, ib_end, other);
  for (const IbEnd& end : {ib_end, other}) {
    IbPort& port = fabric.port(end);
    port.active = link;
    port.link_up = true;
    port.state = fabric.live ? IbState::kActive : IbState::kNotSaid;
  }
}

inline void unplug(IbFabric& fabric, IbEnd ib_end) {
  const IbEnd other = fabric.port(ib_end).peer;
  for (const IbEnd& end : {ib_end, other}) {
    IbPort& port = fabric.port(end);
    port.peer = {};
    port.active = {};
    port.link_up = false;
  }
}

struct TreeSize {
  int leaves = 4, hcas = 4, spines = 4;
};

// Nodes: the leaves, the spines, the HCAs, in this order. Ports: HCAs first, then spines; three are empty.
inline IbFabric fat_tree(const TreeSize& size = {}) {
  IbFabric fabric;
  for (int leaf = 0; leaf < size.leaves; ++leaf)
    fabric.nodes.push_back(ib_node(IbNodeType::kSwitch, 0x1000U + static_cast<unsigned>(leaf),
                                   size.hcas + size.spines + 3, fmt::format("leaf{}", leaf)));
  for (int spine = 0; spine < size.spines; ++spine)
    fabric.nodes.push_back(ib_node(IbNodeType::kSwitch, 0x2000U + static_cast<unsigned>(spine),
                                   size.leaves + 3, fmt::format("spine{}", spine)));
  for (int hca = 0; hca < size.leaves * size.hcas; ++hca) {
    fabric.nodes.push_back(ib_node(IbNodeType::kHca, 0x3000U + static_cast<unsigned>(hca) * 2, 1,
                                   fmt::format("node{} mlx5_0", hca)));
    fabric.nodes.back().ports[1].guid = 0x3001U + static_cast<unsigned>(hca) * 2;
  }
  const int first_hca = size.leaves + size.spines;
  for (int leaf = 0; leaf < size.leaves; ++leaf) {
    for (int hca = 0; hca < size.hcas; ++hca)
      plug(fabric, {leaf, hca + 1}, {first_hca + leaf * size.hcas + hca, 1});
    for (int spine = 0; spine < size.spines; ++spine)
      plug(fabric, {leaf, size.hcas + spine + 1}, {size.leaves + spine, leaf + 1});
  }
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    fabric.nodes[n].ports[fabric.nodes[n].is_switch() ? 0 : 1].lid = static_cast<unsigned>(n) + 1;
  return fabric;
}

// A dragonfly: groups of switches that are all cabled to each other, with HCAs, and one cable between each two groups.
// Ports: HCAs first, then the group's own switches, then other groups.
inline IbFabric dragonfly(int groups, int switches, int hcas) {
  IbFabric fabric;
  const int across = (groups - 1 + switches - 1) / switches;
  for (int n = 0; n < groups * switches; ++n)
    fabric.nodes.push_back(ib_node(IbNodeType::kSwitch, 0x1000U + static_cast<unsigned>(n),
                                   hcas + switches - 1 + across,
                                   fmt::format("g{}s{}", n / switches, n % switches)));
  for (int n = 0; n < groups * switches; ++n)
    for (int hca = 0; hca < hcas; ++hca) {
      fabric.nodes.push_back(ib_node(IbNodeType::kHca, 0x8000U + static_cast<unsigned>(n * hcas + hca), 1,
                                     fmt::format("node{} mlx5_0", n * hcas + hca)));
      plug(fabric, {n, hca + 1}, {static_cast<int>(fabric.nodes.size()) - 1, 1});
    }
  for (int group = 0; group < groups; ++group) {
    for (int a = 0; a < switches; ++a)
      for (int b = a + 1; b < switches; ++b)
        plug(fabric, {group * switches + a, hcas + b}, {group * switches + b, hcas + a + 1});
    // The n-th other group of a group is cabled to its switch n / across.
    for (int other = group + 1; other < groups; ++other) {
      const int n = other - 1, m = group;
      plug(fabric, {group * switches + n / across, hcas + switches + n % across},
           {other * switches + m / across, hcas + switches + m % across});
    }
  }
  return fabric;
}

// A tree in rails: leaf L holds mlx5_L of three hosts. The HCAs follow the leaves and two spines.
inline IbFabric rails_tree(int leaves) {
  IbFabric fabric = fat_tree({leaves, 3, 2});
  for (int hca = 0; hca < leaves * 3; ++hca)
    fabric.nodes[static_cast<std::size_t>(leaves + 2 + hca)].description =
        fmt::format("host{} mlx5_{}", hca % 3, hca / 3);
  return fabric;
}

// fat_tree() as discovery finds it if the last leaf is dead: without the leaf and the HCAs behind it.
inline IbFabric without_last_leaf() {
  IbFabric fabric = fat_tree({3, 4, 4});
  for (std::size_t spine = 3; spine < 7; ++spine) {
    fabric.nodes[spine].ports.resize(8);
    fabric.nodes[spine].ports[7].number = 7;
  }
  return fabric;
}

// The tree as discovery finds it: with states of ports, and a manager on the first HCA.
inline IbFabric live_tree(const TreeSize& size = {}) {
  IbFabric fabric = fat_tree(size);
  fabric.live = true;
  for (IbNode& node : fabric.nodes)
    for (IbPort& port : node.ports) port.state = port.peer ? IbState::kActive : IbState::kDown;
  IbManager master;
  master.end = {size.leaves + size.spines, 1};
  master.state = IbManagerState::kMaster;
  fabric.managers.push_back(master);
  return fabric;
}

}  // namespace railbed::told
