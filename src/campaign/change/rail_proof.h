// The rails of nodes that change, seen from both ends before and after: which of them the change broke, and
// which carried nothing before it either.
#pragma once

#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "apply/outcome.h"
#include "base/peer.h"
#include "configure/plan.h"
#include "inventory/cluster.h"
#include "results/measurement.h"

namespace railbed {

// A path that does not carry, and the lowest layer that does not work; kNone: neither node replied.
struct SeenFault {
  RailFault fault;
  PathLayer layer = PathLayer::kNone;
};
struct RailsSeen {
  int paths = 0;  // number of paths that were looked at
  std::vector<SeenFault> faults;
};

// Looks at every rail between neighbors among `nodes`. `peer_of` returns a node's peer; the peers must
// outlive the call. Blocks for some seconds a rail.
RailsSeen look_at_rails(const Cluster& cluster, const std::vector<std::string>& nodes,
                        const std::function<Peer*(const std::string& node)>& peer_of,
                        const std::stop_token& stop);

// Returns the faults that both looks of the same rails have, each with the lower of its two layers.
RailsSeen seen_twice(const RailsSeen& first, const RailsSeen& second);

// The rails that the changes of a plan are to make work: those whose interface a setting names, and on
// InfiniBand all if a subnet manager changes. Such a rail must carry after the change, whatever it did before.
class ConcernedRails {
 public:
  ConcernedRails() = default;
  ConcernedRails(const Cluster& cluster, const ClusterPlan& plan);
  bool contain(const RailFault& fault) const;

 private:
  std::set<std::pair<std::string, std::string>> ends_;  // node and rail
};

// The faults after a change: those that speak against it, and the others.
struct RailsJudged {
  std::vector<RailFault> broken;
  // The path carried nothing before the change either, nothing below the layer of that time is broken now,
  // and the change does not concern the rail.
  std::vector<RailFault> old;
};
RailsJudged judge_rails(const RailsSeen& before, const RailsSeen& after, const ConcernedRails& concerned);

}  // namespace railbed
