// Searches a cluster's rails for the slow node or the slow link: measures rounds of pairs at once, then
// suspects alone (bench/pairs/slow.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/measure/run.h"
#include "campaign/reach.h"
#include "inventory/cluster.h"
#include "verify/verify.h"

namespace railbed {

struct PairSearch {
  std::string rail;               // only this one; empty: every rail
  std::optional<Engine> engine;   // none: TCP on Ethernet rails, else RDMA; kCollective: NCCL's broadcast
  bool gpu_memory = false;        // of RDMA
  std::uint64_t bytes = 0;        // message size; 0: the engine's default
  double seconds = 1;             // measured time of each direction of a pair; NCCL's follows from the size
  double tolerance = 0.1;         // slow means this share below the others
  int streams = 0;                // 0: the engine's default
  bool every_pair = false;
};

struct PairsFound {
  BenchRun run;  // its `pairs`: a report for each rail
  std::vector<Unreachable> unreachable;
};

// The operation of a measurement ends in "together" if its round had several pairs, and in "alone" if it had
// one. Fails after a stop.
Result<PairsFound> search_pairs(const Cluster& cluster, const PairSearch& search, const RunRequest& request,
                                ReachOptions reach, const Caller& caller);

}  // namespace railbed
