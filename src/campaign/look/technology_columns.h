// The kinds of nodes in the evidence, each with the support for NVIDIA's technologies there.
#pragma once

#include <vector>

#include "hardware/technology.h"
#include "verify/verify.h"

namespace railbed {

// Returns a column for each kind. Nodes with facts are described by these, others by cluster.yaml: its parts
// and the node's expectations.
std::vector<TechnologyColumn> technology_columns(const Evidence& evidence);

}  // namespace railbed
