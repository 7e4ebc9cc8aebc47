// What a collective's bus bandwidth cannot exceed, from what is between the GPUs.
#pragma once

#include <vector>

#include "predict/calibration.h"
#include "predict/cluster_shape.h"
#include "predict/nccl_tuning.h"
#include "results/collective.h"
#include "results/measurement.h"

namespace railbed {

struct PathLimit {
  Limit limit;
  PathKind path = PathKind::kNvlink;
};

// Within a node, and between nodes where there are several. Rates before any efficiency.
std::vector<PathLimit> path_limits(const ClusterShape& shape, Collective operation, NcclAlgorithm algorithm);

PathKind network_path(NicKind nic);
// Of GPUs in one node that no switch helps.
PathKind local_path(const ClusterShape& shape);
// What a node's adapters carry together, for data, and why no more.
Limit node_wire(const ClusterShape& shape);

}  // namespace railbed
