// Measures the rungs of a ladder between two nodes, one after the other.
#pragma once

#include <vector>

#include "bench/pairs/ladder.h"
#include "campaign/open_pair.h"
#include "nccl/log.h"
#include "results/ladder.h"

namespace railbed {

// What cannot be climbed says why; what failed on the way has its failure. Not judged yet.
Ladder measure_ladder(OpenPair& pair, const BenchPath& way, double seconds, const Caller& caller);

// All rails at once, from a to b, as their rungs measured them alone: over RDMA where at least two carried
// so, else over TCP. `ladders` are those of the pair's ways, in their order. Empty where fewer than two
// carried.
std::vector<Measurement> measure_ladders_at_once(OpenPair& pair, const std::vector<Ladder>& ladders,
                                                 double seconds, const Caller& caller);

// How NCCL went from a's GPU (rank 0) to b's, by its log, and why it did not go better.
NcclWay nccl_way(const nccl::Log& log, const LadderEnd& a, const LadderEnd& b);

// Of several measurements of one rail, one: each rung's repeats are merged. Judged.
Ladder judge_ladders(const std::vector<Ladder>& ladders, const OpenPair& pair, const BenchPath& way);

}  // namespace railbed
