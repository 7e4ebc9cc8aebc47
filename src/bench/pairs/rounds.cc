#include "bench/pairs/rounds.h"

#include <algorithm>

namespace railbed {

std::vector<Round> tournament_rounds(int nodes) {
  if (nodes < 2) return {};
  const int seats = nodes + nodes % 2;  // an odd number plays with an empty seat
  std::vector<int> seat(static_cast<std::size_t>(seats));
  for (int i = 0; i < seats; ++i) seat[static_cast<std::size_t>(i)] = i;
  std::vector<Round> rounds;
  for (int round = 0; round + 1 < seats; ++round) {
    Round pairs;
    for (int i = 0; i < seats / 2; ++i) {
      const int a = seat[static_cast<std::size_t>(i)];
      const int b = seat[static_cast<std::size_t>(seats - 1 - i)];
      if (a < nodes && b < nodes) pairs.push_back({std::min(a, b), std::max(a, b)});
    }
    rounds.push_back(std::move(pairs));
    std::rotate(seat.begin() + 1, seat.end() - 1, seat.end());  // the first stays, the others move on
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
