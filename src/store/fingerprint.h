// The fingerprint of nodes: their properties at the time of a run.
#pragma once

#include <string_view>

#include "results/run.h"

namespace railbed {

struct Facts;

// Adds to `run` those of the node's facts that may change a measurement: hardware, firmware, software.
// Unreadable facts are left out. Each key begins with the node's name.
void add_fingerprint(BenchRun& run, std::string_view node, const Facts& facts);

}  // namespace railbed
