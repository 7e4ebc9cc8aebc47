// What BMCs said, as people read it: sensors and event logs of many nodes.
#pragma once

#include <string>
#include <vector>

#include "facts/bmc.h"

namespace railbed {

struct BmcTextOptions {
  bool colour = false;
  bool all = false;      // sensors and events that are in order as well
  std::size_t most = 0;  // events of a node, the latest; 0: all
};

// One node: its sensors in a table. Many: those that are out of range, and how many are in order.
std::string sensors_text(const std::vector<BmcFacts>& nodes, const BmcTextOptions& options);
// The event log of each node, the oldest first.
std::string events_text(const std::vector<BmcFacts>& nodes, const BmcTextOptions& options);

}  // namespace railbed
