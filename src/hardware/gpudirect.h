// The routes by which network adapters reach GPU memory on a node, and the remedy if none is open. Rules and
// the prediction of NCCL's choice share this.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/shell.h"
#include "facts/facts.h"
#include "hardware/gpu_model.h"
#include "hardware/nic.h"

namespace railbed {

// The state of both routes on a node.
struct GpuDirectRoutes {
  // The reason why the route is closed; empty if it is open.
  std::string no_peer_memory;
  std::string no_dma_buf;

  bool peer_memory() const { return no_peer_memory.empty(); }
  bool dma_buf() const { return no_dma_buf.empty(); }
  bool any() const { return peer_memory() || dma_buf(); }
};

// Returns the state of both routes. A fact that is missing counts as good if the older facts suffice without
// it.
GpuDirectRoutes gpudirect_routes(const Facts& facts);

// Returns why adapters cannot reach this GPU's memory; empty if they can or if no fact contradicts it.
// `model` is the GPU's row, or null.
std::string why_gpu_cannot(const Gpu& gpu, const GpuModel* model);
// Returns the reason for the last GPU if no GPU of the node can; empty if one can or if there is none.
std::string why_no_gpu_can(const Facts& facts);
// Returns why the node's driver for such adapters cannot reach GPU memory; empty if it can.
std::string why_adapter_cannot(const Facts& facts, const NicModel& model);

// The RDMA core's interface through which other drivers, such as nvidia-peermem, register memory of their
// own. kLoaded: the interface exists and nvidia-peermem is loaded.
enum class PeerMemoryApi { kNo, kYes, kLoaded, kUnknown };
PeerMemoryApi peer_memory_api(const Facts& facts);

// The capability of the GPUs and their driver.
enum class GpuSide { kNone, kBeforeTuring, kClosedModule, kOpenModule };
// The driver of the adapters. mlx4 drives ConnectX-3 and ConnectX-3 Pro.
enum class AdapterSide { kKernelMlx4, kOfedMlx4, kOther };
// The support of DMA-BUF by the kernel and the adapter's driver.
enum class KernelSide { kTakesDmaBuf, kTooOld, kAdapterRefuses };

// A row of the decision table. A column that is not set matches every node.
struct GpuDirectRow {
  std::optional<GpuSide> gpu;
  std::optional<AdapterSide> adapter;
  std::optional<PeerMemoryApi> api;
  std::optional<KernelSide> kernel;
  bool possible;          // false: `text` gives the reason
  std::string_view text;  // the remedy
  std::vector<ShellCommand> commands = {};
  bool needs_reboot = false;
  std::string_view source = {};
};
// Returns the table. The first row that matches a node applies; the last row matches every node.
std::span<const GpuDirectRow> gpudirect_table();

// Returns the row for a node on which both routes are closed.
const GpuDirectRow& gpudirect_remedy(const Facts& facts);

}  // namespace railbed
