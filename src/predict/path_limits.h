// Upper limits of a collective's bus bandwidth, from the links between the GPUs.
#pragma once

#include <vector>

#include "predict/calibration.h"
#include "predict/cluster_shape.h"
#include "predict/nccl_tuning.h"
#include "results/collective.h"
#include "results/measurement.h"

namespace railbed {

// Share of the wire's rate that is reached if adapters cannot access GPU memory: the same bytes cross PCIe
// and memory twice at each end and share them with the adapter. The V100 guide measured 2.0 of 4.55 GB/s over
// ConnectX-3 Pro on PCIe Gen3. That is one machine's share; other machines must be measured.
constexpr double kStagedShare = 2.0 / 4.55;

struct PathLimit {
  Limit limit;
  PathKind path = PathKind::kNvlink;
};

// Returns the limit within a node and, if there are several, the limit between nodes. Rates are before any
// efficiency.
std::vector<PathLimit> path_limits(const ClusterShape& shape, Collective operation, NcclAlgorithm algorithm);

// Returns the path of a kind of adapter.
PathKind network_path(NicKind nic);
// Returns the path between GPUs of one node, without reduction in a switch.
PathKind local_path(const ClusterShape& shape);
// Returns the data rate of all adapters of a node together, with the reason for this limit.
Limit node_wire(const ClusterShape& shape);
// Returns how many of a node's adapters the GPUs of a job there use. NCCL gives a GPU as many as its PCIe slot can
// feed, so one H100 uses one of eight adapters of 400 Gb/s. All of them where GPUs reach adapters without a
// slot of their own (Grace, GB10), through host memory, or before Ampere, where a GPU may be on NVLink to its
// processor (POWER9).
int used_adapters(const ClusterShape& shape);
// Returns the data rate of these together.
Limit used_wire(const ClusterShape& shape);

}  // namespace railbed
