// On which nodes, and which of their GPUs, a collective runs.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace railbed {

struct GpuPlace {
  std::string name;
  std::string destination;  // "localhost": this machine
  std::vector<int> gpus;    // ordinals; empty: all
};

struct GpuPlaces {
  std::vector<GpuPlace> nodes;
  std::string ssh_config;  // of the cluster that names them; empty: the user's own
};

// One cluster.yaml, or nodes: "gpu01", "gpu01:0,1". None: this machine, with `own` GPUs of it.
Result<GpuPlaces> find_gpu_places(const std::vector<std::string>& where, const std::vector<int>& own);

}  // namespace railbed
