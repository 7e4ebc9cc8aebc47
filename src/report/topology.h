// How near GPUs and network adapters of one node are to each other: the matrix that `nvidia-smi topo -m`
// draws, from PCI alone and without a driver, with NVLink where NVML tells it.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.h"

namespace railbed {

struct TopologyDevice {
  std::string name;  // GPU0, mlx5_0; the PCI address where there is no other name
  std::string pci_address;
  int numa_node = -1;
  bool gpu = false;
  static void fields(auto&& field) {
    field("name", &TopologyDevice::name);
    field("pci_address", &TopologyDevice::pci_address);
    field("numa_node", &TopologyDevice::numa_node);
    field("gpu", &TopologyDevice::gpu);
  }
};

struct NearestAdapter {
  std::string gpu;
  std::vector<std::string> adapters;  // all that are equally near
  std::string path;                   // PIX, PXB, PHB, NODE, SYS
  static void fields(auto&& field) {
    field("gpu", &NearestAdapter::gpu);
    field("adapters", &NearestAdapter::adapters);
    field("path", &NearestAdapter::path);
  }
};

struct TopologyMatrix {
  std::vector<TopologyDevice> devices;          // GPUs first
  std::vector<std::vector<std::string>> paths;  // [row][column]: "X" on the diagonal, PIX … SYS, NV18
  std::vector<NearestAdapter> nearest;          // for each GPU
  static void fields(auto&& field) {
    field("devices", &TopologyMatrix::devices);
    field("paths", &TopologyMatrix::paths);
    field("nearest", &TopologyMatrix::nearest);
  }
};

TopologyMatrix topology_of(const Facts& facts);

// One screen: the matrix, the nearest adapters, the legend.
std::string render_topology(const TopologyMatrix& matrix);
std::string topology_json(const TopologyMatrix& matrix);

}  // namespace railbed
