// GPU generations: which routes of GPUDirect RDMA each has, and which stand behind NVSwitch.
#pragma once

#include <span>
#include <string_view>

namespace railbed {

enum class GpuDirect {
  kNone,        // the network adapter cannot reach its memory: data is staged through host memory
  kPeerMemory,  // only by the nvidia-peermem module
  kBoth,        // nvidia-peermem, or DMA-BUF with the open kernel module
};

struct GpuModel {
  std::string_view name;  // a piece of what the driver calls it: "V100", "H100 80GB HBM3"
  GpuDirect gpudirect;
  bool nvswitch;  // eight of it on one board are joined by NVSwitch and need nvidia-fabricmanager
  std::string_view source;
};

std::span<const GpuModel> gpu_models();
// The longest table name that is a piece of `model`.
const GpuModel* find_gpu_model(std::string_view model);

}  // namespace railbed
