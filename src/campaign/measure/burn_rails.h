// The rails of a burn-in under load (`burn --rails`), led by the controller.
//
// Time is divided into turns of fifteen seconds. In each turn the nodes of a rail are paired anew, so that every node
// meets every other (pair_rounds.h). All pairs of all rails send in both directions at once, by RDMA where both ends have
// a device for the rail, else by TCP, and the engines compare what arrives. A node whose agent does not answer after
// a turn is left out of its verdict and gets another connection. While collectives use the rails this load rests.
#pragma once

#include <chrono>
#include <memory>

#include "base/result.h"
#include "bench/burn/burn.h"
#include "campaign/caller.h"
#include "fleet/fleet.h"
#include "inventory/cluster.h"
#include "results/burn.h"

namespace railbed {

// A node of a burn-in that was not reached gets another connection that often.
inline constexpr std::chrono::seconds kBurnConnectPeriod{15};

// The connections of a load that the controller leads. Of ssh they are its own, and nodes that are away get others. Those of
// a scheduler are the burn-in's: it would have to wait for a second allocation of the same nodes.
struct BurnFleet {
  std::unique_ptr<fleet::Fleet> own = {};
  fleet::Fleet* shared = nullptr;

  fleet::Fleet& get() const { return own ? *own : *shared; }
  bool may_reconnect() const { return own != nullptr; }
};

class BurnRailsLoad {
 public:
  // Reads the facts of the fleet's nodes. Fails if fewer than two of them can be measured on any rail. `plan` must outlive
  // it.
  static Result<std::unique_ptr<BurnRailsLoad>> open(const Cluster& cluster, BurnFleet fleet,
                                                     const BurnPlan& plan, const Caller& caller);
  virtual ~BurnRailsLoad() = default;  // stops it

  // Begins, and ends by itself with the plan's time after `started`. `before` is what a controller measured that this
  // one follows.
  virtual void start(std::chrono::steady_clock::time_point started, BurnRails before) = 0;
  // Ends the turn and waits for it.
  virtual void stop() = 0;
  // Returns what was measured until now. Thread-safe.
  virtual BurnRails state() const = 0;
};

}  // namespace railbed
