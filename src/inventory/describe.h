// A summary of a cluster for users.
#pragma once

#include <string>

#include "inventory/cluster.h"

namespace railbed {

// Returns the name, the nodes, one line per rail, the parts, and the expectations. Apart from the rails it
// has at most twelve lines, however many nodes there are.
std::string describe(const Cluster& cluster);

}  // namespace railbed
