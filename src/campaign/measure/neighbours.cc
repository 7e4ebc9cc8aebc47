#include "campaign/measure/neighbours.h"

#include <algorithm>
#include <map>
#include <utility>

namespace railbed {

// The neighbors form a ring. Pair i joins nodes i and i + 1, so pairs of equal parity have no node in common:
// they form two rounds.
std::vector<std::vector<Pair>> neighbour_rounds(const Rail& rail) {
  const std::size_t count = rail.ports.size();
  if (count < 2) return {};
  const auto pair = [&](std::size_t i) {
    return Pair{&rail, rail.ports[i].node, rail.ports[(i + 1) % count].node};
  };
  std::vector<std::vector<Pair>> rounds(count == 2 ? 1 : 2);
  for (std::size_t i = 0; i + 1 < count; ++i) rounds[i % 2].push_back(pair(i));
  // The pair that closes the ring joins the last node with the first. With an odd number of nodes it shares a
  // node with a pair of each round, so it needs a third.
  if (count > 2 && count % 2 == 0) rounds[1].push_back(pair(count - 1));
  if (count > 2 && count % 2 == 1) rounds.push_back({pair(count - 1)});
  return rounds;
}

std::vector<std::vector<PairOfRails>> rounds_of_all_rails(const Cluster& cluster) {
  std::vector<std::vector<std::vector<Pair>>> by_rail;
  std::map<std::pair<std::string, std::string>, std::vector<const Rail*>> joined;
  for (const Rail& rail : cluster.rails) {
    by_rail.push_back(neighbour_rounds(rail));
    for (const auto& round : by_rail.back())
      for (const Pair& pair : round) joined[std::minmax(pair.from, pair.to)].push_back(&rail);
  }
  std::vector<std::vector<PairOfRails>> rounds;
  for (const auto& of_rail : by_rail)
    for (const auto& round : of_rail) {
      std::vector<PairOfRails> pairs;
      for (const Pair& pair : round) {
        auto rails = std::exchange(joined[std::minmax(pair.from, pair.to)], {});
        if (rails.size() > 1) pairs.push_back({std::move(rails), pair.from, pair.to});
      }
      if (!pairs.empty()) rounds.push_back(std::move(pairs));
    }
  return rounds;
}

}  // namespace railbed
