// The burn-in of one node while it runs.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "bench/burn/burn.h"
#include "host/host.h"
#include "nvidia/calls.h"

namespace railbed {

// A child process for each GPU, one for the copies between them, one for the processors and one for each drive, and the
// last state of each. Thread-safe.
class BurnSession {
 public:
  virtual ~BurnSession() = default;
  virtual BurnState state() = 0;
  // Kills what still runs, and waits until it has ended.
  virtual void stop() = 0;
};

// Starts the load. `host` may be null if the plan loads GPUs alone.
Result<std::shared_ptr<BurnSession>> begin_burn(const BurnPlan& plan, const NvidiaLibraries& from,
                                                const std::shared_ptr<Host>& host);

// Returns the drives that a plan names or finds; empty if it loads none.
Result<std::vector<BurnDrive>> find_drives_to_burn(const BurnPlan& plan, const std::shared_ptr<Host>& host);

}  // namespace railbed
