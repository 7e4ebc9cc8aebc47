// GPU models: routes of GPUDirect RDMA, NVSwitch, and the expected properties of a healthy one.
#pragma once

#include <span>
#include <string_view>

namespace railbed {

enum class GpuDirect {
  kNone,        // network adapters cannot reach its memory: data is staged through host memory
  kPeerMemory,  // only with the nvidia-peermem module
  kBoth,        // nvidia-peermem, or DMA-BUF with the open kernel module
};

// Returns MB/s of a link as data sheets have it, without the coding: NVML reports 25781, 25000, 26562 and 53125 MB/s for
// NVLink 2, 3, 4 and 5.
constexpr int nvlink_sheet_mbps(int stated) { return stated / 25'000 * 25'000; }

struct GpuModel {
  std::string_view name;  // a part of the driver's name for it: "V100", "H100 80GB HBM3"
  GpuDirect gpudirect;
  bool nvswitch;  // eight of them on one board are connected by NVSwitch and need nvidia-fabricmanager
  std::string_view source;
  int nvlinks = 0;      // number of active links on a healthy one; 0: it has none, or bridges are an option
  int nvlink_mbps = 0;  // MB/s per link, as NVML reports it
  int pcie_generation = 0;  // with 16 lanes; 0: not in the table
  bool ecc = false;         // it ships with error correction on
  bool whole_bar1 = false;  // it can map all its memory on PCI, given room above 4 GiB
  bool c2c = false;         // NVLink-C2C connects it to its processor
  bool turing = false;

  bool before_ampere() const { return gpudirect == GpuDirect::kPeerMemory || turing; }
};

std::span<const GpuModel> gpu_models();
// Returns the row with the longest name that is in `model` as a word, see names_gpu(). Null if there is none.
// The case of letters counts.
const GpuModel* find_gpu_model(std::string_view model);
// Returns whether boards of this product are sold with a fan only: GeForce and TITAN for desktops. Boards for servers
// (A2, A10, A16, L4, T4) have none and may report a fan at 0 %; RTX and Quadro are sold with and without one.
bool has_own_fan(std::string_view product);

// Watts below which a GPU computes nothing, although kernels may run: a quarter of the limit that it is sold with. Published
// listings of hung jobs: a V100 of 300 W at 100 % utilisation draws 66 W (github.com/THUDM/GLM-130B/issues/32), an H100 of
// 700 W draws 152 W, and its neighbours of the same job, which rest, 129 to 137 W (github.com/NVIDIA/nccl/issues/1550). The
// share is railbed's own.
constexpr double watts_without_work(double power_limit) { return power_limit / 4; }

}  // namespace railbed
