// The rules of a subnet: a pure function of what was found and what was planned.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/counters.h"
#include "fabric/subnet.h"
#include "inventory/cluster.h"
#include "verify/finding.h"
#include "verify/rule.h"
#include "verify/verify.h"

namespace railbed {

// The input of the rules.
struct FabricEvidence {
  IbFabric fabric;
  std::string from;                        // a file's name, or the port through which the subnet was read
  std::optional<IbFabric> plan;            // the intended cables
  std::vector<std::string> hosts = {};     // nodes that cluster.yaml expects in this subnet
  std::optional<double> oversubscription;  // the highest allowed ratio: 2 is 2:1
  std::optional<IbCounterLook> counters;
};

// Returns the rules, for `railbed explain` and `railbed rules`. Their `check` is null, because judge_fabric()
// judges them all at once.
std::span<const Rule> subnet_rules();

// Returns the nodes that have a port on an InfiniBand rail.
std::vector<std::string> infiniband_hosts(const Cluster& cluster);

// Returns the findings of all rules, passes included.
std::vector<Finding> judge_fabric(const FabricEvidence& evidence);
// Returns the same findings, worst first; each follows the one that explains it.
Verdict verify_fabric(const FabricEvidence& evidence);

}  // namespace railbed
