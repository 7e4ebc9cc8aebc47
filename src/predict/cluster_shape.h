// A cluster as the input of a forecast: its numbers of parts and the rates between them. All nodes are alike.
// Unknown properties are assumed; `said` records the source of each.
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

// The link between the GPUs of one node.
enum class GpuLink {
  kPcie,        // peer to peer
  kHostMemory,  // over PCIe through the processor's memory: the driver allows no peers
  kNvlink,      // wired from GPU to GPU
  kNvswitch,    // every GPU reaches every other at full rate
};
constexpr auto enum_names(GpuLink) {
  return std::array<std::string_view, 4>{"PCIe", "host memory", "NVLink", "NVSwitch"};
}

// Networks that behave in their own way. EFA is that of AWS since 2023 (p5 and later), EFAv1 the one before
// (p4d); TCPXO and TCPX are Google's; libfabric is any other network behind that library.
enum class NicKind { kInfiniband, kRoce, kEfa, kEfaV1, kSlingshot, kTcpxo, kLibfabric, kTcp };
constexpr auto enum_names(NicKind) {
  return std::array<std::string_view, 8>{"InfiniBand", "RoCE",  "EFA",       "EFAv1",
                                         "Slingshot",  "TCPXO", "libfabric", "TCP"};
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
  int gpus = 1;  // per node
  GpuLink link = GpuLink::kPcie;
  int nvlinks = 0;       // per GPU
  BitRate link_rate;     // from a GPU to the others of its node, each way, as NCCL counts it
  bool nvls = false;     // NVSwitch reduces in the network
  int domain_nodes = 1;  // nodes in one NVLink network (NVL72: up to 18)

  NicKind nic = NicKind::kInfiniband;
  int nics = 0;           // ports per node that carry data
  BitRate nic_rate;       // rate of each port, as the link states it
  int mtu = 4096;         // RDMA's path MTU, TCP's interface MTU
  BitRate nic_pcie;       // the narrowest hop between an adapter and memory; zero: no limit
  bool gpudirect = true;  // adapters reach the GPUs' memory
  bool unified = false;   // GPU and processor share one memory: no staging

  bool amd = false;  // AMD processor, else Intel
  std::string nccl;  // "2.28.9"; empty: the newest known
  std::vector<ShapeSaying> said;

  int ranks() const { return nodes * gpus; }
  // Returns the number of NVLink networks, which NCCL counts as nodes.
  int domains() const { return domain_nodes > 1 ? (nodes + domain_nodes - 1) / domain_nodes : nodes; }
  FIELDS(ClusterShape, gpu, architecture, nodes, gpus, link, nvlinks, link_rate, nvls, domain_nodes, nic,
         nics, nic_rate, mtu, nic_pcie, gpudirect, unified, amd, nccl, said);
};

// The shape as a user types it; every member may be left out. `gpu` is "H100" or "RTX 5090"; `nic` is
// "8x400ib", "2x100roce", "32x100efa", "4x100efa1", "4x200slingshot", "8x200tcpxo", "1x100libfabric" or
// "1x10tcp".
struct ShapeWords {
  std::string gpu;
  int gpus = 0;
  int nodes = 0;
  std::string nic;
  int pcie_generation = 0;  // generation of the GPUs' slots
  int nic_pcie_generation = 0;
  int nic_pcie_lanes = 0;
  bool staged = false;   // adapters do not reach the GPUs' memory
  bool peers = false;    // GeForce: a driver that allows peers
  bool no_nvls = false;  // NCCL_NVLS_ENABLE=0
  int domain_nodes = 0;
  bool amd = false;
  std::string nccl;
};
// Returns the shape, with assumptions for what is left out. Fails on an unknown GPU, on an invalid `nic`, and
// if several nodes have no `nic` and no common NVLink network.
Result<ClusterShape> shape_from_words(const ShapeWords& words);

// Sets the GPU's architecture and its links to the others of its node, from its name: NVLinks and NVSwitch if
// its board has them, else PCIe or, for GeForce without `peers`, host memory. A `pcie_generation` above 0
// selects PCIe.
void fill_gpu(ClusterShape& shape, std::string_view gpu, int pcie_generation, bool peers);
// Returns the rate that NCCL assumes for a slot of 16 lanes.
BitRate slot_rate(int pcie_generation);

// Returns, for example, "2 nodes x 8 H100 (NVSwitch), 8 x 400 Gb/s InfiniBand a node".
std::string describe(const ClusterShape& shape);

}  // namespace railbed
