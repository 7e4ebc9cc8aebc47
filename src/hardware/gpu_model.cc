#include "hardware/gpu_model.h"

#include "hardware/gpu_product.h"

namespace railbed {
namespace {

// DMA-BUF needs the open kernel module, and that needs Turing or newer (NVIDIA/open-gpu-kernel-modules,
// README).
constexpr std::string_view kOpen = "open-gpu-kernel-modules README: Turing and later";
constexpr std::string_view kRdmaGuide = "GPUDirect RDMA documentation: Tesla and Quadro class GPUs";
// Link counts, PCIe and ECC of the products' data sheets; the speed is what NVML reports for them.
constexpr std::string_view kLinks = "NVIDIA data sheets of V100, A100 and H100; Fabric Manager user guide";
constexpr std::string_view kSeen = "NVML on H200 machines (tests/machines/h200x4); Fabric Manager user guide";
constexpr std::string_view kGrace = "NVIDIA Grace Hopper architecture white paper: NVLink-C2C";
// Its memory is the processor's. No device can coherently reach what CUDA allocates there, so nvidia-peermem,
// DMA-BUF and GDRCopy do not work.
constexpr std::string_view kSpark =
    "NVIDIA, \"DGX Spark GPUDirect RDMA\", forums.developer.nvidia.com/t/348787";
constexpr std::string_view kLinks5 = "NVIDIA Blackwell architecture brief; DCGM's expected 53125 MB/s a link";

constexpr GpuModel kGpus[] = {
    {"K20", GpuDirect::kPeerMemory, false, kRdmaGuide},
    {"K40", GpuDirect::kPeerMemory, false, kRdmaGuide},
    {"K80", GpuDirect::kPeerMemory, false, kRdmaGuide},
    {"M4", GpuDirect::kPeerMemory, false, kRdmaGuide},
    {"P4", GpuDirect::kPeerMemory, false, kRdmaGuide},
    {"P40", GpuDirect::kPeerMemory, false, kRdmaGuide},
    {"P100", GpuDirect::kPeerMemory, false, kRdmaGuide},
    {"V100", GpuDirect::kPeerMemory, false, kRdmaGuide, 0, 0, 3, true, true},
    {"V100-SXM2", GpuDirect::kPeerMemory, false, kLinks, 6, 25781, 3, true, true},
    {"V100-SXM3", GpuDirect::kPeerMemory, true, kLinks, 6, 25781, 3, true, true},
    {"T4", GpuDirect::kBoth, false, kOpen, 0, 0, 3, true, false, false, true},
    {"A10", GpuDirect::kBoth, false, kOpen, 0, 0, 4, true, false},
    {"A40", GpuDirect::kBoth, false, kOpen, 0, 0, 4, true, false},
    {"A100", GpuDirect::kBoth, false, kOpen, 0, 0, 4, true, true},
    {"A100-SXM4", GpuDirect::kBoth, true, kLinks, 12, 25000, 4, true, true},
    {"L4", GpuDirect::kBoth, false, kOpen, 0, 0, 4, true, false},
    {"L40", GpuDirect::kBoth, false, kOpen, 0, 0, 4, true, false},
    {"L40S", GpuDirect::kBoth, false, kOpen, 0, 0, 4, true, false},
    {"H100", GpuDirect::kBoth, false, kOpen, 0, 0, 5, true, true},
    {"H100 80GB HBM3", GpuDirect::kBoth, true, kLinks, 18, 26562, 5, true, true},
    {"H100 PCIe", GpuDirect::kBoth, false, kOpen, 0, 0, 5, true, true},
    {"H100 NVL", GpuDirect::kBoth, false, kOpen, 0, 0, 5, true, true},
    {"H200", GpuDirect::kBoth, true, kSeen, 18, 26562, 5, true, true},
    {"H200 NVL", GpuDirect::kBoth, false, kOpen, 0, 0, 5, true, true},
    {"B200", GpuDirect::kBoth, true, kLinks5, 18, 53125, 5, true, true},
    {"B300", GpuDirect::kBoth, true, kLinks5, 18, 53125, 0, true, false},
    {"GH200", GpuDirect::kBoth, false, kGrace, 0, 0, 0, true, false, true},
    {"GB200", GpuDirect::kBoth, true, kLinks5, 18, 53125, 0, true, false, true},
    {"GeForce", GpuDirect::kNone, false, kRdmaGuide},
    {"GB10", GpuDirect::kNone, false, kSpark},
};

}  // namespace

std::span<const GpuModel> gpu_models() { return kGpus; }

const GpuModel* find_gpu_model(std::string_view model) {
  const GpuModel* best = nullptr;
  for (const GpuModel& row : kGpus)
    if (names_gpu(model, row.name) && (best == nullptr || row.name.size() > best->name.size())) best = &row;
  return best;
}

bool has_own_fan(std::string_view product) {
  const auto has = [&](std::string_view word) { return product.find(word) != std::string_view::npos; };
  return (has("GeForce") || has("TITAN")) && !has("Laptop") && !has("Max-Q") && !has("Mobile");
}

}  // namespace railbed
