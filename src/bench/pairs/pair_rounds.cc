// Two schedules in which every node measures with at most one other in each round.
//
// The tournament is the circle method: place the nodes around a table with two rows and pair opposite places.
// Then move every node except the first on by one place. After n − 1 rounds each node has met every other.
// With an odd number of nodes one place is empty, and the node opposite to it rests.
//
// The XOR schedule needs only ⌈log2 n⌉ rounds. In round k node i meets i XOR 2^k, the number with one bit
// inverted. This mapping is its own inverse, so the pairs of a round are disjoint. The partners are 1, 2, 4,
// 8 … numbers apart, so that a node meets neighbors in its rack and nodes at the far end of the hall. Each
// node gets one partner for each bit of the largest number: from eight nodes on these are three, enough that
// a median is not moved by one bad partner. If n is not a power of two, some partners do not exist; the nodes
// without a partner meet one another.
#include "bench/pairs/pair_rounds.h"

#include <algorithm>

namespace railbed {

std::vector<Round> tournament_rounds(int nodes) {
  if (nodes < 2) return {};
  const int places = nodes + nodes % 2;  // with an odd number one place stays empty
  std::vector<int> place(static_cast<std::size_t>(places));
  for (int i = 0; i < places; ++i) place[static_cast<std::size_t>(i)] = i;
  std::vector<Round> rounds;
  for (int round = 0; round + 1 < places; ++round) {
    Round pairs;
    for (int i = 0; i < places / 2; ++i) {
      const int a = place[static_cast<std::size_t>(i)];
      const int b = place[static_cast<std::size_t>(places - 1 - i)];
      if (a < nodes && b < nodes) pairs.push_back({std::min(a, b), std::max(a, b)});
    }
    rounds.push_back(std::move(pairs));
    std::rotate(place.begin() + 1, place.end() - 1, place.end());  // the first stays, the others move on
  }
  return rounds;
}

std::vector<Round> xor_rounds(int nodes) {
  std::vector<Round> rounds;
  for (int step = 1; step < nodes; step *= 2) {
    Round pairs;
    std::vector<int> alone;
    for (int i = 0; i < nodes; ++i) {
      const int partner = i ^ step;
      if (partner >= nodes) alone.push_back(i);
      if (partner < nodes && i < partner) pairs.push_back({i, partner});
    }
    for (std::size_t i = 0; i + 1 < alone.size(); i += 2) pairs.push_back({alone[i], alone[i + 1]});
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

}  // namespace railbed
