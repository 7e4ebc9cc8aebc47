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
