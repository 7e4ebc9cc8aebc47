// What a collective's bus bandwidth cannot exceed, from what is between the GPUs.
#pragma once

#include <vector>

#include "predict/calibration.h"
#include "predict/cluster_shape.h"
#include "predict/nccl_tuning.h"
#include "results/collective.h"
#include "results/measurement.h"

namespace railbed {

// Of the wire, where adapters do not reach GPU memory: the same bytes cross PCIe and memory twice at each end
// and share them with the adapter. The V100 guide measured 2.0 of 4.55 GB/s over ConnectX-3 Pro on PCIe Gen3.
// That is one machine's share; on others measuring tells.
constexpr double kStagedShare = 2.0 / 4.55;

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
