#include "campaign/neighbours.h"

namespace railbed {

std::vector<std::vector<Pair>> neighbour_rounds(const Rail& rail) {
  const std::size_t count = rail.ports.size();
  if (count < 2) return {};
  const auto pair = [&](std::size_t i) {
    return Pair{&rail, rail.ports[i].node, rail.ports[(i + 1) % count].node};
  };
  std::vector<std::vector<Pair>> rounds(count == 2 ? 1 : 2);
  for (std::size_t i = 0; i + 1 < count; ++i) rounds[i % 2].push_back(pair(i));
  // The pair that closes the ring meets both its neighbours in their rounds when the number is odd.
  if (count > 2 && count % 2 == 0) rounds[1].push_back(pair(count - 1));
  if (count > 2 && count % 2 == 1) rounds.push_back({pair(count - 1)});
  return rounds;
}

}  // namespace railbed
