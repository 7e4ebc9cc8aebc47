// A cluster as a forecast sees it: how many of what, and the rates between them. Every node is like the
// others. What nobody said is assumed, and `said` tells which is which.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/units.h"
#include "hardware/gpu_product.h"

namespace railbed {

// What carries data between GPUs of one node.
enum class GpuLink {
  kPcie,        // peer to peer
  kHostMemory,  // over PCIe through the processor's memory: the driver allows no peers
  kNvlink,      // wired from GPU to GPU
  kNvswitch,    // every GPU reaches every other at full rate
};
constexpr auto enum_names(GpuLink) {
  return std::array<std::string_view, 4>{"PCIe", "host memory", "NVLink", "NVSwitch"};
}

enum class NicKind { kInfiniband, kRoce, kEfa, kLibfabric, kTcp };
constexpr auto enum_names(NicKind) {
  return std::array<std::string_view, 5>{"InfiniBand", "RoCE", "EFA", "libfabric", "TCP"};
}

// One property and where it comes from: {"GPUs a node", "8", "assumed"}.
struct ShapeSaying {
  std::string what;
  std::string value;
  std::string from;
  FIELDS(ShapeSaying, what, value, from);
};
inline constexpr std::string_view kAssumed = "assumed";

struct ClusterShape {
  std::string gpu;  // "H100"
  GpuArchitecture architecture = GpuArchitecture::kHopper;
  int nodes = 1;
  int gpus = 1;  // of a node
  GpuLink link = GpuLink::kPcie;
  int nvlinks = 0;       // of a GPU
  BitRate link_rate;     // of a GPU to the others of its node, each way, as NCCL counts it
  bool nvls = false;     // NVSwitch reduces on the way
  int domain_nodes = 1;  // that one NVLink network joins (NVL72: up to 18)

  NicKind nic = NicKind::kInfiniband;
  int nics = 0;           // of a node, ports that carry data
  BitRate nic_rate;       // of each, as the link states it
  int mtu = 4096;         // RDMA's path MTU, TCP's interface MTU
  BitRate nic_pcie;       // the narrowest hop between an adapter and memory; zero: binds nothing
  bool gpudirect = true;  // adapters reach the GPUs' memory
  bool unified = false;   // GPU and processor have one memory: nothing is staged

  bool amd = false;  // the processor
  std::string nccl;  // "2.28.9"; empty: the newest known
  std::vector<ShapeSaying> said;

  int ranks() const { return nodes * gpus; }
  // NVLink networks that the nodes make: what NCCL counts as nodes.
  int domains() const { return domain_nodes > 1 ? (nodes + domain_nodes - 1) / domain_nodes : nodes; }
  FIELDS(ClusterShape, gpu, architecture, nodes, gpus, link, nvlinks, link_rate, nvls, domain_nodes, nic,
         nics, nic_rate, mtu, nic_pcie, gpudirect, unified, amd, nccl, said);
};

// What a person types: all of it may be left out. `gpu` "H100", "RTX 5090"; `nic` "8x400ib", "2x100roce",
// "32x100efa", "4x200libfabric", "1x10tcp".
struct ShapeWords {
  std::string gpu;
  int gpus = 0;
  int nodes = 0;
  std::string nic;
  int pcie_generation = 0;  // of the GPUs' slots
  int nic_pcie_generation = 0;
  int nic_pcie_lanes = 0;
  bool staged = false;   // adapters do not reach the GPUs' memory
  bool peers = false;    // GeForce: a driver that allows peers
  bool no_nvls = false;  // NCCL_NVLS_ENABLE=0
  int domain_nodes = 0;
  bool amd = false;
  std::string nccl;
};
Result<ClusterShape> shape_from_words(const ShapeWords& words);

// What a GPU's name says of it: architecture, NVLinks, whether NVSwitch joins them. Fills the links of
// `shape` for as many GPUs a node as it has.
void fill_gpu(ClusterShape& shape, std::string_view gpu, int pcie_generation, bool peers);
// What NCCL takes for a GPU's slot of 16 lanes.
BitRate slot_rate(int pcie_generation);

// "2 nodes x 8 H100 (NVSwitch), 8 x 400 Gb/s InfiniBand a node"
std::string describe(const ClusterShape& shape);

}  // namespace railbed
