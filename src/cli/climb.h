// Measures the rungs of a ladder between two nodes, one after the other.
#pragma once

#include <vector>

#include "bench/pairs/ladder.h"
#include "cli/open_pair.h"
#include "nccl/log.h"
#include "results/ladder.h"

namespace railbed {

// What cannot be climbed says why; what failed on the way has its failure. Not judged yet.
Ladder climb(OpenPair& pair, const BenchPath& way, double seconds);

// How NCCL went from a's GPU (rank 0) to b's, by its log, and why it did not go better.
NcclWay nccl_way(const nccl::Log& log, const LadderEnd& a, const LadderEnd& b);

// Of several climbs of one rail, one: each rung's repeats are merged. Judged.
Ladder judge_climbs(const std::vector<Ladder>& climbs, const OpenPair& pair, const BenchPath& way);

}  // namespace railbed
