// Which nodes measure with which.
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

// Every node with its neighbours on the rail (in the file's order, the last with the first), as rounds of
// disjoint pairs: within a round no node takes part twice, so the pairs of a round may run at once. Two
// rounds for an even number of nodes, three for an odd one, one for two nodes, none for fewer.
std::vector<std::vector<Pair>> neighbour_rounds(const Rail& rail);

}  // namespace railbed
