// The pairs of nodes that measure with each other.
#pragma once

#include <string>
#include <vector>

#include "inventory/cluster.h"

namespace railbed {

struct Pair {
  const Rail* rail = nullptr;  // of the cluster given
  std::string from;
  std::string to;
  bool operator==(const Pair&) const = default;
};

// Returns every node with its neighbors on the rail (in the file's order, the last with the first), as rounds
// of disjoint pairs: within a round no node takes part twice, so the pairs of a round may run at once. Two
// rounds for an even number of nodes, three for an odd one, one for two nodes, none for fewer.
std::vector<std::vector<Pair>> neighbour_rounds(const Rail& rail);

struct PairOfRails {
  std::vector<const Rail*> rails;  // of the cluster given, at least two
  std::string from;
  std::string to;
  bool operator==(const PairOfRails&) const = default;
};

// Returns the pairs that are neighbors on more than one rail, each once, in rounds of the same kind.
std::vector<std::vector<PairOfRails>> rounds_of_all_rails(const Cluster& cluster);

}  // namespace railbed
