// The controller's side of a burn-in while it runs: starts the load on all nodes, looks at it every few seconds, and ends
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "bench/burn/burn.h"
#include "campaign/caller.h"
#include "campaign/measure/gpu_places.h"
#include "campaign/measure/kept_burns.h"
#include "campaign/reach.h"
#include "results/burn.h"

namespace railbed {

// The load of all nodes, and the power that it may take.
struct BurnOutlook {
  int nodes = 0;
  int gpus = 0;
  int hosts = 0;     // nodes whose processors are loaded
  double watts = 0;  // of all GPUs: their power limits, or --watts where that is less
  int drives = 0;
  std::uint64_t most_written = 0;  // bytes, of that drive that gets most
  int unknown = 0;                 // GPUs whose power limit is not known; they are not in `watts`
  int ports = 0;                   // of rails
  bool collectives = false;        // take turns with the other loads
};

struct BurnListener {
  std::function<void(const BurnOutlook&)> before;                     // anything is loaded
  std::function<void(const BurnReport& now, double left)> meanwhile;  // every few seconds, without a verdict
  // Returns true if a request to stop only ends this process, and the nodes go on (BurnPlan::keep).
  std::function<bool()> leaves = [] { return false; };
};

class BurnCampaign {
 public:
  virtual ~BurnCampaign() = default;

  // Starts the load on all nodes. `write` is called when it may begin, and again when the answers are there. Fails if no
  // node begins.
  virtual Result<void> start(const std::function<void()>& write) = 0;
  // Returns what each node answered to the start.
  virtual std::vector<KeptBurnNode> started_nodes() const = 0;
  // Takes up a load that another process started `seconds` ago, in place of start().
  virtual void take_up(const KeptBurn& kept, double seconds) = 0;
  // Looks at the nodes until the end, and calls `save` about once in a minute. Returns nullopt if the terminal is gone and
  // the nodes go on.
  virtual std::optional<BurnReport> follow(bool end_at_once,
                                           const std::function<void(const BurnReport&)>& save) = 0;
};

// All but `reach` must outlive the campaign.
std::unique_ptr<BurnCampaign> open_burn(const GpuPlaces& places, const BurnPlan& plan, ReachOptions reach,
                                        const Caller& caller, const BurnListener& listener);

}  // namespace railbed
