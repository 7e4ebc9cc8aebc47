// What is wrong with a subnet. A pure function of what was found and what was wanted.
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

struct FabricEvidence {
  IbFabric fabric;
  std::string from;                        // what was read: a file's name, or the port that was asked through
  std::optional<IbFabric> plan;            // what should be cabled to what
  std::vector<std::string> hosts = {};     // that cluster.yaml wants in this subnet
  std::optional<double> oversubscription;  // the most that is allowed: 2 is 2:1
  std::optional<IbCounterLook> counters;
};

// The rules, for `railbed explain` and `railbed rules`; their `check` is null: they are judged here, all at
// once.
std::span<const Rule> subnet_rules();

// The nodes that have a port on an InfiniBand rail.
std::vector<std::string> infiniband_hosts(const Cluster& cluster);

std::vector<Finding> judge_fabric(const FabricEvidence& evidence);
// The same in the order that people read.
Verdict verify_fabric(const FabricEvidence& evidence);

}  // namespace railbed
