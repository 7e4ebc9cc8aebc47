// Everything known about a cluster at one moment: the expectations in cluster.yaml, the facts of nodes and
// BMCs, and measurements. Rules judge it, and settings are rendered from it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "facts/bmc.h"
#include "facts/facts.h"
#include "inventory/cluster.h"
#include "results/measurement.h"

namespace railbed {

// The program that starts agents on nodes.
enum class Carrier { kSsh, kSlurm, kKubernetes };

// A node without facts, and the reason ("ssh: connect to host gpu07 port 22: No route to host").
struct Unreachable {
  std::string node;
  Error error;
  Carrier by = Carrier::kSsh;  // the program that should have started an agent there
  std::string remedy = {};     // one sentence that fits the reason; empty if only a look there tells
};

// A node's clock, read over its connection.
struct ClockReading {
  double offset_seconds = 0;       // ahead of this machine's clock
  double uncertainty_seconds = 0;  // half the fastest round trip: the true offset is within ± this
  FIELDS(ClockReading, offset_seconds, uncertainty_seconds);
};

// The applies that changed a node, as the node shows them.
struct AfterReboot {
  std::string error = {};              // why it could not be checked; empty if it was
  std::string apply = {};              // the last one that was kept; empty if none
  bool this_boot = false;              // the node has not rebooted since
  std::vector<std::string> lost = {};  // settings that differ from cluster.yaml
  FIELDS(AfterReboot, error, apply, this_boot, lost);
};

struct Watched;  // watched.h

// The input of verify and of renderers.
struct Evidence {
  Cluster cluster;  // without nodes and rails: no expectations, rules use tables and majorities
  std::map<std::string, Facts> nodes;  // by node name
  std::vector<Unreachable> unreachable;
  std::vector<Measurement> measurements;
  std::map<std::string, ClockReading> clocks;  // by node name; only clocks that were read
  // by node name; only for `railbed verify --after-reboot`
  std::map<std::string, AfterReboot> after_reboot = {};
  std::map<std::string, BmcFacts> bmcs = {};  // by node name; only BMCs that were queried
  // by node name; only nodes that a monitor watches
  std::map<std::string, std::shared_ptr<const Watched>> watched = {};
  bool measured = false;  // measurements were requested, whether or not there are any
};

}  // namespace railbed
