// Texts for people about BMCs: sensors and event logs of many nodes.
#pragma once

#include <string>
#include <vector>

#include "facts/bmc.h"

namespace railbed {

struct BmcTextOptions {
  bool colour = false;
  bool all = false;      // also sensors and events that are in order
  std::size_t most = 0;  // events of a node that are shown, the latest; 0: all
};

// Returns the sensors of one node as a table. For many nodes, returns those that are out of range, and the
// number of nodes without such.
std::string sensors_text(const std::vector<BmcFacts>& nodes, const BmcTextOptions& options);
// Returns the event log of each node, the oldest event first.
std::string events_text(const std::vector<BmcFacts>& nodes, const BmcTextOptions& options);

}  // namespace railbed
