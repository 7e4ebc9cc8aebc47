// The kinds of nodes that evidence shows, each beside what NVIDIA's technologies do there.
#pragma once

#include <vector>

#include "hardware/technology.h"
#include "verify/verify.h"

namespace railbed {

// Nodes with facts, by these; nodes without, by what cluster.yaml says of them: their parts,
// and what it expects.
std::vector<TechnologyColumn> technology_columns(const Evidence& evidence);

}  // namespace railbed
