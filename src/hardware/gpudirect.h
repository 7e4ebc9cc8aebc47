// By which route network adapters reach GPU memory on a node, and what would open one where none is open.
// Rules and the prediction of what NCCL does share this.
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

struct GpuDirectRoutes {
  // Why each route is closed; empty: it is open.
  std::string no_peer_memory;
  std::string no_dma_buf;

  bool peer_memory() const { return no_peer_memory.empty(); }
  bool dma_buf() const { return no_dma_buf.empty(); }
  bool any() const { return peer_memory() || dma_buf(); }
};

// What the facts do not say is taken as good where the older facts beside it suffice.
GpuDirectRoutes gpudirect_routes(const Facts& facts);

// Empty: adapters can reach this GPU's memory, or nothing says that they cannot. `model` is its row, or null.
std::string why_gpu_cannot(const Gpu& gpu, const GpuModel* model);
std::string why_no_gpu_can(const Facts& facts);  // likewise of all GPUs: none can
// Empty: the driver that this node has for such adapters can reach GPU memory.
std::string why_adapter_cannot(const Facts& facts, const NicModel& model);

// Whether the RDMA core lets other drivers bring memory of their own, which nvidia-peermem does. Loaded: it
// does, and the module is loaded already.
enum class PeerMemoryApi { kNo, kYes, kLoaded, kUnknown };
PeerMemoryApi peer_memory_api(const Facts& facts);

// What the GPUs and their driver can.
enum class GpuSide { kNone, kBeforeTuring, kClosedModule, kOpenModule };
// Who drives the adapters. mlx4 is ConnectX-3 and its Pro.
enum class AdapterSide { kKernelMlx4, kOfedMlx4, kOther };
// What kernel and adapter's driver do with DMA-BUF.
enum class KernelSide { kTakesDmaBuf, kTooOld, kAdapterRefuses };

// A row of the decision table. A column that is not set fits every node.
struct GpuDirectRow {
  std::optional<GpuSide> gpu;
  std::optional<AdapterSide> adapter;
  std::optional<PeerMemoryApi> api;
  std::optional<KernelSide> kernel;
  bool possible;          // false: `text` says why it is not
  std::string_view text;  // the one thing to do
  std::vector<ShellCommand> commands = {};
  bool needs_reboot = false;
  std::string_view source = {};
};
std::span<const GpuDirectRow> gpudirect_table();

// The row for a node on which both routes are closed.
const GpuDirectRow& gpudirect_remedy(const Facts& facts);

}  // namespace railbed
