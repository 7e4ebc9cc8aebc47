// Measures storage in folders of nodes, all nodes at once.
#pragma once

#include <cstdint>
#include <vector>

#include "campaign/caller.h"
#include "campaign/measure/run.h"
#include "campaign/measure/storage_visits.h"
#include "campaign/reach.h"
#include "verify/verify.h"

namespace railbed {

struct StoragePlan {
  std::uint64_t bytes = 0;  // total size of the files; 0: the engine's default
  double seconds = 3;       // of each run except the checkpoint
};

struct MeasuredStorage {
  BenchRun run;  // its `storage` has every place on the nodes that responded
  std::vector<Unreachable> unreachable;
};

// Measures the folders of a node one after the other, the nodes in parallel. A place that failed has its
// failure. After a stop the run has what was measured until then.
MeasuredStorage measure_storage_places(const StorageVisits& visits, const StoragePlan& plan,
                                       const RunRequest& request, ReachOptions reach, const Caller& caller);

}  // namespace railbed
