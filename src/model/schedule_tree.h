// Which nodes are near each other, as a tree of switches for schedulers: Slurm's topology/tree, Kubernetes' labels.
//
// Such a tree gives each node one place, and each switch one switch above it. A network does neither: rails put a
// node's adapters on several leaves, and each leaf has cables to every spine. So switches are merged:
// * Nodes whose adapters are on the same set of leaves form a group, and their leaves one switch of the tree:
//   within a group each rail needs one switch only. A node that misses a few of a group's leaves, because a cable
//   or an adapter is broken, belongs to the group nonetheless.
// * Groups that a switch of the level above joins, directly or through others, have one switch of the tree above
//   them; so on for each level. A level that joins nothing is left out.
// * What no level joins though it is connected, as in a torus or a dragonfly, has one switch above it at the end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/fields.h"

namespace railbed {

struct WiredSwitch {
  std::string name;
  int level = 1;                  // 1 for a leaf, 2 above it, …; -1 if it is in no level
  std::vector<std::size_t> next;  // switches that it has cables to, in both directions
};

// Nodes and switches that are cabled.
struct Wiring {
  std::vector<WiredSwitch> switches;
  std::map<std::string, std::vector<std::size_t>> nodes;  // by name: switches that its adapters are on
  std::vector<std::string> notes;                         // what was left out, and why
};

struct ScheduleSwitch {
  std::string name;                   // unique; letters, digits, "-", "_" and "."; at most 63
  int level = 1;                      // 1: it has nodes
  std::vector<std::string> switches;  // names of the switches that it stands for
  std::vector<std::string> children;  // names of switches of the tree
  std::vector<std::string> nodes;
  FIELDS(ScheduleSwitch, name, level, switches, children, nodes);
};

struct ScheduleTree {
  std::vector<ScheduleSwitch> switches;  // children before their parents
  std::vector<std::string> notes;
  FIELDS(ScheduleTree, switches, notes);
};

// Returns the tree. Names that no node of a scheduler can have are left out with a note.
ScheduleTree schedule_tree(const Wiring& wiring);

// Returns the names of the switches of the tree that are above a node, the nearest first.
std::map<std::string, std::vector<std::string>> switches_above(const ScheduleTree& tree);

}  // namespace railbed
