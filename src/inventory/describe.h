// A cluster in a few lines, for people.
#pragma once

#include <string>

#include "inventory/cluster.h"

namespace railbed {

// Name, nodes, a line a rail, and what is expected; at most some twenty lines however many nodes there are.
std::string describe(const Cluster& cluster);

}  // namespace railbed
