// Distance between GPUs and network adapters of one node: the matrix that `nvidia-smi topo -m` draws, from
// PCI alone and without a driver.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "facts/facts.h"

namespace railbed {

struct TopologyDevice {
  std::string name;  // GPU0, mlx5_0; the PCI address if there is no other name
  std::string pci_address;
  int numa_node = -1;
  bool gpu = false;
  FIELDS(TopologyDevice, name, pci_address, numa_node, gpu);
};

struct NearestAdapter {
  std::string gpu;
  std::vector<std::string> adapters;  // all at the shortest distance
  std::string path;                   // PIX, PXB, PHB, NODE, SYS
  FIELDS(NearestAdapter, gpu, adapters, path);
};

struct TopologyMatrix {
  std::vector<TopologyDevice> devices;          // GPUs first
  std::vector<std::vector<std::string>> paths;  // [row][column]: "X" on the diagonal, PIX … SYS
  std::vector<NearestAdapter> nearest;          // for each GPU
  FIELDS(TopologyMatrix, devices, paths, nearest);
};

// Computes the matrix; empty if the PCI devices could not be read.
TopologyMatrix topology_of(const Facts& facts);

// Returns one screen: the matrix, the nearest adapters, the legend.
std::string render_topology(const TopologyMatrix& matrix);

}  // namespace railbed
