// Shared by all commands that connect to a cluster's nodes: opens the fleet and collects every node's facts.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/pairs/measure.h"
#include "campaign/caller.h"
#include "facts/facts.h"
#include "fleet/fleet.h"
#include "inventory/cluster.h"
#include "verify/verify.h"

namespace railbed {

// Returns a fleet of the cluster's nodes. `options` are those of add_fleet_options(), with the cluster's ssh
// configuration.
fleet::Fleet open_fleet(const Cluster& cluster, fleet::FleetOptions options);
// Returns a fleet of these nodes only.
fleet::Fleet open_fleet(const Cluster& cluster, const std::vector<std::string>& nodes,
                        fleet::FleetOptions options);

// Returns the end of a measurement at `node` on this rail. Precondition: the node has a port on the rail, and
// `surveyed` has its facts. The result points into `fleet` and `surveyed`.
struct Surveyed;
PairEnd end_on(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed, const std::string& node);

struct Surveyed {
  std::map<std::string, Facts> facts;    // by node name
  std::vector<Unreachable> unreachable;  // in the order of cluster.yaml
  std::map<std::string, ClockReading> clocks;
};
// Collects the facts of every node of the fleet. A node that does not respond, or sends facts that cannot be
// parsed, is in `unreachable` with the reason. If two or more nodes have facts, their clocks are read, too;
// each reading is the quickest of several. Nodes of `cluster` also report the venv and the container that are
// expected there.
Surveyed survey_nodes(fleet::Fleet& fleet, const Caller& caller, const CollectOptions& options = {},
                      const Cluster& cluster = {});

// Collects one node's facts, with those of its GPUs. Reports no progress.
Result<Facts> facts_of(Peer& peer, const Caller& caller);

}  // namespace railbed
