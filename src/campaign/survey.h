// What every command that talks to a cluster's nodes shares: the fleet, and everybody's facts.
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

// The cluster's nodes; `options` as add_fleet_options() declared them, the cluster's ssh configuration laid
// over.
fleet::Fleet open_fleet(const Cluster& cluster, fleet::FleetOptions options);
// Likewise, of these alone.
fleet::Fleet open_fleet(const Cluster& cluster, const std::vector<std::string>& nodes,
                        fleet::FleetOptions options);

// What `node` brings to a measurement on this rail. It has a port there, and gave facts.
struct Surveyed;
PairEnd end_on(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed, const std::string& node);

struct Surveyed {
  std::map<std::string, Facts> facts;    // by node name
  std::vector<Unreachable> unreachable;  // in the order of the file
  std::map<std::string, ClockReading> clocks;
};
// Asks every node for its facts. Nodes that do not answer, or answer nonsense, are
// named with the reason.
// Their clocks are read as well, the quickest of several answers each.
// A node of `cluster` is asked about the venv and the container that are expected there, too.
Surveyed survey_nodes(fleet::Fleet& fleet, const Caller& caller, const CollectOptions& options = {},
                      const Cluster& cluster = {});

// One node's, GPUs and all; the caller shows the progress.
Result<Facts> facts_of(Peer& peer, const Caller& caller);

}  // namespace railbed
