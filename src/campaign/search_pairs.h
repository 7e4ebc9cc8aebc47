// Searches a cluster's rails for the slow node or the slow link: rounds of pairs measured at once, then
// suspects alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/reach.h"
#include "campaign/run.h"
#include "inventory/cluster.h"
#include "verify/verify.h"

namespace railbed {

struct PairSearch {
  std::string rail;               // this one only; empty: every rail
  std::optional<Engine> engine;   // nothing: as the rail's fabric has it
  std::uint64_t bytes = 1 << 20;  // of a message
  double seconds = 1;             // measured time of each direction of a pair
  double tolerance = 0.1;         // this share below the others is slow
  int streams = 0;                // 0: the engine's default
  bool every_pair = false;
};

struct PairsFound {
  BenchRun run;  // its `pairs`: a report for each rail
  std::vector<Unreachable> unreachable;
};

// Measurements of a round say "together" in their operation, those of a pair by itself "alone".
Result<PairsFound> search_pairs(const Cluster& cluster, const PairSearch& search, const RunRequest& request,
                                ReachOptions reach, const Caller& caller);

}  // namespace railbed
