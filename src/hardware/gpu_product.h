// GPUs as products: what their architecture, compute capability and data sheet say, and no fact of a node.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace railbed {

enum class GpuArchitecture {
  kKepler,
  kMaxwell,
  kPascal,
  kVolta,
  kTuring,
  kAmpere,
  kAda,
  kHopper,
  kBlackwell
};
constexpr auto enum_names(GpuArchitecture) {
  return std::array<std::string_view, 9>{"Kepler", "Maxwell", "Pascal", "Volta",    "Turing",
                                         "Ampere", "Ada",     "Hopper", "Blackwell"};
}

// What it is sold for: NVIDIA's lists of what is supported go by that.
enum class GpuMarket {
  kDataCentre,
  kWorkstation,
  kGeForce,
  kUnified,  // GB10: one memory with its processor
};

enum class NvlinkWay {
  kNone,
  kBridge,  // a bridge over two cards is an option
  kBoard,   // wired on its board
  kSwitch,  // joined by NVSwitch where eight or more are
};

inline constexpr int kVgpuStill = 1000;

struct GpuProduct {
  std::string_view name;  // a piece of what the driver, or a person, calls it
  GpuArchitecture architecture;
  int capability;  // compute capability: 61 is 6.1
  GpuMarket market;
  int memory_gb;     // 0: several sizes, or not in the table
  int watts;         // 0: not in the table
  NvlinkWay nvlink;  //
  int mig;           // instances at most; 0: none
  int vgpu_last;     // the last branch of vGPU with it: 16; 0: none had it; kVgpuStill
  bool series;       // the name goes on with digits: "RTX 30" of an RTX 3090

  bool has_tensor_cores() const;
};

// Sources: compute capability of developer.nvidia.com/cuda-gpus and its page of legacy GPUs, memory and power
// of the data sheets, MIG of the MIG user guide ("Supported GPUs"), vGPU of
// docs.nvidia.com/vgpu/gpus-supported-by-vgpu.html and /vgpu/17.0/whats-new-vgpu.
std::span<const GpuProduct> gpu_products();
// Whether the name stands in `model` as a word: "P4" in "Tesla P4" and "P4-8Q", not in "P40"; "K20" in
// "K20m". A series goes on with digits.
bool names_gpu(std::string_view model, std::string_view name, bool series = false);
// The longest table name that stands in `model` as a word; null: not in the table. Letters' case does not
// count.
const GpuProduct* find_gpu_product(std::string_view model);

// Which CUDA toolkits compile for it and which branches of the driver drive it.
struct CudaSupport {
  std::string_view first_toolkit;
  std::string_view last_toolkit;  // empty: they still do
  int last_driver = 0;            // 0: they still do
};
// docs.nvidia.com/datacenter/tesla/drivers, "CUDA Toolkit, Driver, and Architecture Matrix"
CudaSupport cuda_support(const GpuProduct& product);

}  // namespace railbed
