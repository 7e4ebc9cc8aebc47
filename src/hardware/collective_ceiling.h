// The most that a collective's bus bandwidth can be, from the links between its GPUs.
#pragma once

#include <map>
#include <string>

#include "results/collective.h"

namespace railbed {

struct Facts;

// The slowest GPU's NVLinks, or its PCIe link where it has none; between nodes, all RDMA ports of a node
// together as well. Binding limit first. `facts` by node name.
Ceiling collective_ceiling(const CollectiveReport& report, const std::map<std::string, Facts>& facts);

}  // namespace railbed
