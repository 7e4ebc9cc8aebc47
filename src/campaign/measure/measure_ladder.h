// Measures the rungs of a ladder between two nodes, one after the other.
#pragma once

#include <string>
#include <vector>

#include "bench/pairs/ladder.h"
#include "campaign/measure/open_pair.h"
#include "diagnose/log/job_log.h"
#include "results/ladder.h"

namespace railbed {

// Measures the rungs of one path. A rung that cannot be measured has the reason; one that failed has its
// failure. The result is not judged yet.
Ladder measure_ladder(OpenPair& pair, const BenchPath& way, double seconds, const Caller& caller);

// Measures all rails at once from a to b, with the settings of the single rungs: over RDMA if RDMA carried
// data on at least two rails, else over TCP. `ladders` are those of the pair's paths, in their order. Returns
// nothing if fewer than two rails carried data.
std::vector<Measurement> measure_ladders_at_once(OpenPair& pair, const std::vector<Ladder>& ladders,
                                                 double seconds, const Caller& caller);

// Returns the end with the GPU that is nearest to the interface. The facts must outlive it.
LadderEnd ladder_end(std::string node, std::string interface, const Facts& facts);

// Returns the path that NCCL took from a's GPU (rank 0) to b's, according to its log, and why it took no
// better one.
NcclWay nccl_way(const diagnose::Log& log, const LadderEnd& a, const LadderEnd& b);

// Merges the repeats of one path into one judged ladder. `ladders` must not be empty.
Ladder judge_ladders(const std::vector<Ladder>& ladders, const OpenPair& pair, const BenchPath& way);

}  // namespace railbed
