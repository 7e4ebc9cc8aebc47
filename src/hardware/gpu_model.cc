#include "hardware/gpu_model.h"

namespace railbed {
namespace {

// DMA-BUF needs the open kernel module, and that needs Turing or newer (NVIDIA/open-gpu-kernel-modules,
// README).
constexpr std::string_view kOpen = "open-gpu-kernel-modules README: Turing and later";
constexpr std::string_view kRdma = "GPUDirect RDMA documentation: Tesla and Quadro class GPUs";
constexpr std::string_view kFabric = "Fabric Manager user guide: NVSwitch based HGX boards";

constexpr GpuModel kGpus[] = {
    {"K20", GpuDirect::kPeerMemory, false, kRdma},
    {"K40", GpuDirect::kPeerMemory, false, kRdma},
    {"K80", GpuDirect::kPeerMemory, false, kRdma},
    {"Tesla M4", GpuDirect::kPeerMemory, false, kRdma},
    {"Tesla P4", GpuDirect::kPeerMemory, false, kRdma},
    {"P40", GpuDirect::kPeerMemory, false, kRdma},
    {"P100", GpuDirect::kPeerMemory, false, kRdma},
    {"V100", GpuDirect::kPeerMemory, false, kRdma},
    {"V100-SXM3", GpuDirect::kPeerMemory, true, kFabric},
    {"T4", GpuDirect::kBoth, false, kOpen},
    {"A10", GpuDirect::kBoth, false, kOpen},
    {"A40", GpuDirect::kBoth, false, kOpen},
    {"A100", GpuDirect::kBoth, false, kOpen},
    {"A100-SXM", GpuDirect::kBoth, true, kFabric},
    {"L4", GpuDirect::kBoth, false, kOpen},
    {"L40", GpuDirect::kBoth, false, kOpen},
    {"H100", GpuDirect::kBoth, false, kOpen},
    {"H100 80GB HBM3", GpuDirect::kBoth, true, kFabric},
    {"H200", GpuDirect::kBoth, true, kFabric},
    {"H200 NVL", GpuDirect::kBoth, false, kOpen},
    {"B200", GpuDirect::kBoth, true, kFabric},
    {"GeForce", GpuDirect::kNone, false, kRdma},
    {"GB10", GpuDirect::kNone, false, "DGX Spark user guide: GPUDirect RDMA is not supported"},
};

}  // namespace

std::span<const GpuModel> gpu_models() { return kGpus; }

const GpuModel* find_gpu_model(std::string_view model) {
  const GpuModel* best = nullptr;
  for (const GpuModel& row : kGpus)
    if (model.find(row.name) != std::string_view::npos &&
        (best == nullptr || row.name.size() > best->name.size()))
      best = &row;
  return best;
}

}  // namespace railbed
