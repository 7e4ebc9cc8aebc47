// Which nodes measure with which, at once: rounds of disjoint pairs of node numbers 0 … n−1.
#pragma once

#include <vector>

namespace railbed {

struct NodePair {
  int a = 0;
  int b = 0;
  bool operator==(const NodePair&) const = default;
};
using Round = std::vector<NodePair>;

// Every node with every other once: n − 1 rounds for an even number of nodes, n for an odd one (circle
// method).
std::vector<Round> tournament_rounds(int nodes);

// ⌈log2 n⌉ rounds; round k pairs i with i XOR 2^k, so that each node meets that many partners and the pairs
// span all distances. Nodes whose partner does not exist meet one another, or sit out the round when one is
// left.
std::vector<Round> xor_rounds(int nodes);

}  // namespace railbed
