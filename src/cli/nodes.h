// What every command that talks to a cluster's nodes shares: its flags, the fleet, and everybody's facts.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "facts/facts.h"
#include "fleet/fleet.h"
#include "inventory/cluster.h"
#include "verify/verify.h"

namespace CLI {
class App;
}

namespace railbed {

struct NodeFlags {
  std::size_t parallel = 32;
  double connect_seconds = 10;
  std::vector<std::string> agent_binaries;  // ARCH=PATH
};
void declare_node_flags(CLI::App& app, NodeFlags& flags);

Result<fleet::Fleet> open_fleet(const Cluster& cluster, const NodeFlags& flags);

struct Surveyed {
  std::map<std::string, Facts> facts;    // by node name
  std::vector<Unreachable> unreachable;  // in the order of the file
};
// Asks every node for its facts, with progress on stderr. Nodes that do not answer, or answer nonsense, are
// named with the reason.
Surveyed survey_nodes(fleet::Fleet& fleet, std::stop_token stop);

}  // namespace railbed
