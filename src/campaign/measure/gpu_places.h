// The nodes and GPUs that a collective runs on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/reach.h"
#include "inventory/cluster.h"

namespace railbed {

struct GpuPlace {
  std::string name;
  std::string destination;  // "localhost": this machine
  std::vector<int> gpus;    // ordinals; empty: all
};

struct GpuPlaces {
  std::vector<GpuPlace> nodes;
  std::string ssh_config;               // ssh configuration of the cluster; empty: the user's own
  std::optional<Cluster> cluster = {};  // that names the nodes; nullopt: they were named by themselves
};

// Parses `where`: lists of nodes such as "gpu[01-04],gpu07" and "gpu01:0,1" (inventory/hostlist.h); before them, a
// cluster.yaml that has these nodes. A cluster.yaml alone: all of its nodes. If it is empty, the result is this machine with its GPUs `own`.
Result<GpuPlaces> find_gpu_places(const std::vector<std::string>& where, const std::vector<int>& own);

// Returns a fleet of these nodes, in their order.
fleet::Fleet open_fleet(const GpuPlaces& places, ReachOptions reach);

}  // namespace railbed
