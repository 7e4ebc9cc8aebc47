// The collectives of a burn-in (`burn --collectives`), led by the controller.
//
// In the turns of that phase the nodes leave their GPUs alone, and the controller starts NCCL's all_reduce over all GPUs
// that work: one communicator for each turn, with new data in each series, whose last result is compared on every GPU.
// A node's timetable counts from its own start, before the controller's, so a turn here ends earlier by as much as the
// nodes are ahead.
#pragma once

#include <chrono>
#include <memory>

#include "base/result.h"
#include "bench/burn/burn.h"
#include "campaign/caller.h"
#include "campaign/measure/burn_rails.h"
#include "results/burn.h"

namespace railbed {

class BurnCollectivesLoad {
 public:
  // Reads the nodes' facts, for the ceiling. `fleet` has the nodes in the order of the burn-in's report; where
  // `may_reconnect`, nobody else uses it. `plan` must outlive it.
  static std::unique_ptr<BurnCollectivesLoad> open(BurnFleet fleet, const BurnPlan& plan,
                                                   const Caller& caller);
  virtual ~BurnCollectivesLoad() = default;  // stops it

  // Begins, and ends by itself with the plan's time after `started`. `before` is what a controller measured that this
  // one follows.
  virtual void start(std::chrono::steady_clock::time_point started, BurnCollectives before) = 0;
  // Takes a look at the nodes: which GPUs work, and how much time has passed on each. Thread-safe, as is state().
  virtual void look(const BurnReport& now) = 0;
  // Returns what was measured until now.
  virtual BurnCollectives state() const = 0;
  // Ends the turn and waits for it.
  virtual void stop() = 0;
};

}  // namespace railbed
