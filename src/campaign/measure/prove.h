// Proves a cluster: collects the facts of every node, measures every rail between neighbors, and judges all
// of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/measure/run.h"
#include "campaign/reach.h"
#include "facts/bmc.h"
#include "facts/facts.h"
#include "model/differences.h"
#include "verify/verify.h"

namespace railbed {

struct ProofPlan {
  bool measure = true;                        // else only collect facts and judge
  double seconds = 2;                         // measured time for each number
  std::map<std::string, BmcFacts> bmcs = {};  // data of BMCs by node name, judged with the rest
};

struct Proof {
  BenchRun run;  // the measurements
  std::map<std::string, Facts> facts;
  std::vector<Unreachable> unreachable;
  Verdict verdict;
  std::vector<Difference> differences;
  double seconds = 0;  // wall time
};

// Fails only after a stop.
Result<Proof> prove(const Cluster& cluster, const ProofPlan& plan, const RunRequest& request,
                    ReachOptions reach, const Caller& caller);

}  // namespace railbed
