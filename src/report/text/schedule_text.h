// A tree of switches in the formats of schedulers.
#pragma once

#include <string>

#include "base/document.h"
#include "model/schedule_tree.h"

namespace railbed {

inline constexpr Document<ScheduleTree> kScheduleDocument{"railbed-schedule"};

// topology.conf(5) for topology/tree.
std::string slurm_topology_conf(const ScheduleTree& tree);
// topology.yaml(5) with one topology "railbed", the cluster's default (Slurm 25.05 and newer).
std::string slurm_topology_yaml(const ScheduleTree& tree);
// A shell script that labels nodes with the switches above them: the nearest as `leaf`, then `spine` and `core`, under
// network.topology.nvidia.com, as NVIDIA's topograph does.
std::string kubernetes_labels(const ScheduleTree& tree);
// One JSON document.
std::string schedule_json(const ScheduleTree& tree);

}  // namespace railbed
