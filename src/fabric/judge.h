// The verdict on an InfiniBand subnet: a pure function of what was found and what was planned.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fabric/fabric_view.h"
#include "inventory/cluster.h"
#include "verify/rule.h"
#include "verify/verify.h"

namespace railbed {

// Returns all rules of a subnet, in the order in which people see them.
std::span<const Rule> subnet_rules();

// Returns the nodes that have a port on an InfiniBand rail.
std::vector<std::string> infiniband_hosts(const Cluster& cluster);

// Judges every rule.
Verdict verify_fabric(const FabricEvidence& evidence);
// Judges the rules on error counters alone, of evidence that has the ports with errors and no cables.
Verdict verify_counters(const FabricEvidence& evidence);
// Judges the rules on links, states and counters, of evidence that has some ports of a subnet.
Verdict verify_ports(const FabricEvidence& evidence);

// Returns why a subnet with this verdict must not become its own plan: what is broken, a cable that is missing
// and one on another's rail would be planned from then on. Null if it may.
const Finding* against_learning(const Verdict& verdict);

}  // namespace railbed
