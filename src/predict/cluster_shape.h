// A cluster as the input of a forecast: its numbers of parts and the rates between them. All nodes are alike; if they
// are not, the shape is that of the slowest. Unknown properties are assumed; `said` records the source of each. Those
// that may decide a forecast are in `open`, with all their possible values (forecast_range.h).
#pragma once

#include <array>
#include <compare>
#include <optional>
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

// A value that an unknown property may have, as a change to the shape. Empty members change nothing.
struct ShapeAnswer {
  std::string value;                      // "V100 PCIe"
  std::string gpu = {};                   // the GPU is this one, with the links of its name
  std::optional<bool> nvls = {};          // as in ClusterShape; after `gpu`
  std::optional<bool> gpudirect = {};     // adapters reach the GPUs' memory
  std::optional<BitRate> nic_pcie = {};   // as in ClusterShape
  std::optional<int> ports_of_card = {};  // as in ClusterShape
  FIELDS(ShapeAnswer, value, gpu, nvls, gpudirect, nic_pcie, ports_of_card);
};

// A property that the description of a cluster leaves open, with two values or more.
struct OpenQuestion {
  std::string what;                  // "GPUDirect RDMA"
  std::vector<ShapeAnswer> answers;  // the first is what the shape assumes
  std::string settle;  // what to write where: "parts: {gpus: [{model: V100 PCIe}]}, or --gpu …"
  FIELDS(OpenQuestion, what, answers, settle);
};

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
  BitRate nic_pcie;       // each port's part of the narrowest hop to memory; zero: no limit
  int ports_of_card = 1;  // ports of one adapter card, of those that carry data
  bool gpudirect = true;  // adapters reach the GPUs' memory
  bool unified = false;   // GPU and processor share one memory: no staging

  bool amd = false;  // AMD processor, else Intel
  std::string nccl;  // "2.28.9"; empty: the newest known
  std::vector<ShapeSaying> said;
  std::vector<OpenQuestion> open;
  std::vector<std::string> notes;  // what a reader of the forecast needs to know: "the nodes differ: …"
  // The other kinds of nodes, if the nodes differ: no forecast exceeds theirs. JSON leaves them out.
  std::vector<ClusterShape> others;

  int ranks() const { return nodes * gpus; }
  // Returns the number of NVLink networks, which NCCL counts as nodes.
  int domains() const { return domain_nodes > 1 ? (nodes + domain_nodes - 1) / domain_nodes : nodes; }
  FIELDS(ClusterShape, gpu, architecture, nodes, gpus, link, nvlinks, link_rate, nvls, domain_nodes, nic,
         nics, nic_rate, mtu, nic_pcie, ports_of_card, gpudirect, unified, amd, nccl, said, open, notes);
};

// The shape as a user types it; every member may be left out. `gpu` is "H100" or "RTX 5090"; `nic` is
// "8x400ib", "2x100roce", "32x100efa", "4x100efa1", "4x200slingshot", "8x200tcpxo", "1x100libfabric" or
// "1x10tcp".
struct ShapeWords {
  std::string gpu;
  std::string gpu_else;  // another name that the same source gives the GPUs, which contradicts `gpu`
  int gpus = 0;
  int of_gpus = 0;  // GPUs of a node, if more than `gpus`, which take part
  int nodes = 0;
  std::string nic;
  std::string adapter;      // their model or part number: "ConnectX-3 Pro", "MCX455A-ECAT"
  int ports_of_card = 0;    // how many ports of `nic` belong to one card
  bool functions = false;   // GB10: `nic` counts functions, each half of a port
  int pcie_generation = 0;  // generation of the GPUs' slots
  int nic_pcie_generation = 0;
  int nic_pcie_lanes = 0;
  bool staged = false;   // adapters do not reach the GPUs' memory
  bool peers = false;    // GeForce: a driver that allows peers
  bool no_nvls = false;  // NCCL_NVLS_ENABLE=0
  int domain_nodes = 0;
  bool amd = false;
  std::string nccl;
  bool looked = false;             // facts of a node: what they leave out is no open question
  std::vector<std::string> notes;  // as in ClusterShape
  auto operator<=>(const ShapeWords&) const = default;
};
// Returns the shape, with assumptions for what is left out, and questions where an assumption would decide.
// Fails on an unknown GPU, on an invalid `nic`, and if several nodes have no `nic` and no common NVLink
// network.
Result<ClusterShape> shape_from_words(const ShapeWords& words);

// Sets the GPU's architecture and its links to the others of its node, from its name: NVLinks and NVSwitch if
// its board has them, else PCIe or, for GeForce without `peers`, host memory. A `pcie_generation` above 0
// selects PCIe.
void fill_gpu(ClusterShape& shape, std::string_view gpu, int pcie_generation, bool peers);
// Returns the PCIe generation of a GPU's own slot: 3 up to Turing, 4 of Ampere and Ada, 5 since Hopper, 6 of B300.
int slot_generation(const ClusterShape& shape);
// Returns the rate that NCCL assumes for a slot of 16 lanes.
BitRate slot_rate(int pcie_generation);

// Leaves to the shape the adapters that its GPUs use, of a node that has `of_gpus` GPUs or as many as the shape: their
// share of the node's, and no more than their own slots carry. A note names how many that are.
void use_near_adapters(ClusterShape& shape, int of_gpus);

// Adds a property with its source; it replaces an earlier one of the same name.
void say(ClusterShape& shape, std::string what, std::string value, std::string_view from);

// Adds the link between the GPUs of a node, with its source.
void say_link(ClusterShape& shape, std::string_view from);
inline constexpr std::string_view kFromName = "data sheet, NCCL's rates of links";

// Returns, for example, "2 nodes x 8 H100 (NVSwitch), 8 x 400 Gb/s InfiniBand a node".
std::string describe(const ClusterShape& shape);
// The same without the link between the GPUs if their form is an open question.
std::string describe_known(const ClusterShape& shape);

}  // namespace railbed
