#include "diagnose/ras/ras_answer.h"

#include <algorithm>

namespace railbed::diagnose {

const RasRank* RasCommunicator::find(int rank) const {
  const auto found = std::ranges::lower_bound(ranks, rank, {}, &RasRank::rank);
  return found != ranks.end() && found->rank == rank ? &*found : nullptr;
}

bool RasCommunicator::has(RasState state) const {
  return std::ranges::any_of(states, [&](const RasTally& tally) { return tally.state == state; });
}

}  // namespace railbed::diagnose
