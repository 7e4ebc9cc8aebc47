// All that is known of a cluster at one moment: what cluster.yaml expects, what nodes and BMCs showed, and
// what was measured. Rules judge it, settings are rendered from it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "facts/bmc.h"
#include "facts/facts.h"
#include "inventory/cluster.h"
#include "results/measurement.h"

namespace railbed {

enum class Carrier { kSsh, kSlurm, kKubernetes };

// A node that gave no facts, and why ("ssh: connect to host gpu07 port 22: No route to host").
struct Unreachable {
  std::string node;
  Error error;
  Carrier by = Carrier::kSsh;  // who should have started an agent there
};

// A node's clock, as it was read over its connection.
struct ClockReading {
  double offset_seconds = 0;       // ahead of the clock of who asked
  double uncertainty_seconds = 0;  // half of what the quickest answer took: it lies within ± that
  FIELDS(ClockReading, offset_seconds, uncertainty_seconds);
};

// What a node shows of the applies that changed it.
struct AfterReboot {
  std::string error = {};              // why nobody could look; empty: it was looked at
  std::string apply = {};              // the last that was kept; empty: none
  bool this_boot = false;              // the node has not started anew since
  std::vector<std::string> lost = {};  // what is not as cluster.yaml says
  FIELDS(AfterReboot, error, apply, this_boot, lost);
};

struct Evidence {
  Cluster cluster;  // empty nodes and rails: nothing is expected, rules use tables and majority
  std::map<std::string, Facts> nodes;  // by node name
  std::vector<Unreachable> unreachable;
  std::vector<Measurement> measurements;
  std::map<std::string, ClockReading> clocks;            // by node name; those that were read
  std::map<std::string, AfterReboot> after_reboot = {};  // likewise; of `railbed verify --after-reboot` only
  std::map<std::string, BmcFacts> bmcs = {};             // likewise; of BMCs that were asked
  bool measured = false;  // somebody wanted measurements, whether or not there are any
};

}  // namespace railbed
