// Schedules of measurements among many nodes: rounds of disjoint pairs of the node numbers 0 … n−1. The pairs
// of a round can be measured at the same time.
#pragma once

#include <vector>

namespace railbed {

struct NodePair {
  int a = 0;
  int b = 0;
  bool operator==(const NodePair&) const = default;
};
using Round = std::vector<NodePair>;

// Returns rounds in which every node meets every other once: n − 1 rounds for an even number of nodes, n for
// an odd one (circle method).
std::vector<Round> tournament_rounds(int nodes);

// Returns ⌈log2 n⌉ rounds. Round k pairs i with i XOR 2^k, so that each node meets ⌈log2 n⌉ partners and the
// pairs span all distances. Nodes whose partner does not exist meet one another; if one is left over, it
// rests in that round.
std::vector<Round> xor_rounds(int nodes);

}  // namespace railbed
