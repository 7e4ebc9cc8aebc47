// The upper limit of a collective's bus bandwidth, from the links between its GPUs.
#pragma once

#include <map>
#include <string>

#include "results/collective.h"

namespace railbed {

struct Facts;

// Returns the limits, lowest first: the slowest GPU's NVLinks, or its PCIe link if it has none; and between
// nodes, for each node all its RDMA ports together. `facts` maps node names to facts; nodes without facts
// give no limit.
Ceiling collective_ceiling(const CollectiveReport& report, const std::map<std::string, Facts>& facts);

}  // namespace railbed
