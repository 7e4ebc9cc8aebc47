// GPUs as products: architecture, compute capability and data sheet, without any facts of a node.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// The market that it is sold for. NVIDIA's lists of supported products depend on it.
enum class GpuMarket {
  kDataCentre,
  kWorkstation,
  kGeForce,
  kUnified,  // GB10: one memory with its processor
};

// The way in which NVLink connects it to other GPUs.
enum class NvlinkWay {
  kNone,
  kBridge,  // a bridge over two cards is an option
  kBoard,   // wired on its board
  kSwitch,  // connected by NVSwitch if there are eight or more
};

// The value of GpuProduct::vgpu_last for products that current branches of vGPU support.
inline constexpr int kVgpuStill = 1000;

struct GpuProduct {
  std::string_view name;  // a part of the name that the driver or a user gives it
  GpuArchitecture architecture;
  int capability;  // compute capability: 61 is 6.1
  GpuMarket market;
  int memory_gb;     // as its name has it: GiB for most boards; 0: several sizes, or not in the table
  int watts;         // 0: not in the table
  NvlinkWay nvlink;  //
  int mig;           // most MIG instances; 0: no MIG
  int vgpu_last;     // last branch of vGPU that supports it: 16; 0: none did; kVgpuStill
  bool series;       // the name continues with digits: "RTX 30" of an RTX 3090

  bool has_tensor_cores() const;
};

// Sources: compute capability of developer.nvidia.com/cuda-gpus and its page of legacy GPUs, memory and power
// of the data sheets, MIG of the MIG user guide ("Supported GPUs"), vGPU of
// docs.nvidia.com/vgpu/gpus-supported-by-vgpu.html and /vgpu/17.0/whats-new-vgpu.
std::span<const GpuProduct> gpu_products();
// Returns true if the name is in `model` as a word: "P4" in "Tesla P4" and "P4-8Q", not in "P40"; "K20" in
// "K20m". A series continues with digits. The case of letters counts.
bool names_gpu(std::string_view model, std::string_view name, bool series = false);
// Returns true if a GPU of this model is what a person calls `name`: "P4" is a "Tesla P4" and no "Tesla P40", "RTX 40"
// any of that series. The case of letters does not count.
bool is_gpu_called(std::string_view model, std::string_view name);
// Returns true if a word of the name is that of a maker other than NVIDIA, or of its line: "AMD Instinct MI300X". The case of
// letters does not count.
bool is_of_another_maker(std::string_view model);
// Returns the row with the longest name that is in `model` as a word; null if there is none, and for a GPU of another
// maker. The case of letters does not count.
const GpuProduct* find_gpu_product(std::string_view model);

// A range of PCI device numbers, both ends included.
struct PciNumbers {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  constexpr bool hold(std::uint16_t number) const { return number >= first && number <= last; }
};
// Returns the architecture of NVIDIA's GPU with this PCI device number; nullopt for one that is not in the table. A GPU has
// its number whether a driver starts it or not.
std::optional<GpuArchitecture> gpu_architecture(std::uint16_t pci_device);

// What a product is built as. A line such as V100 or H100 is sold in both forms.
enum class GpuForm {
  kUnsaid,  // the name states no form, or two that contradict each other
  kCard,    // in a PCIe slot: "PCIe", "NVL" (two or four cards on a bridge), "V100S", "A100X"
  kBoard,   // on a board whose NVLinks join it to its neighbours: "SXM2", "HGX", "H100 80GB HBM3"
};
// Returns the form that a name states. The case of letters does not count.
GpuForm gpu_form(std::string_view model);
// Returns the names of both forms of a line that is sold as a board and as a card, the board's first, if `model` is of
// such a line: {"V100-SXM2", "V100 PCIe"}. Empty for other products. The driver names H200 and H20 on a board without
// an addition, and their cards with one, so these are not among the lines.
std::vector<std::string> gpu_forms(std::string_view model);

// The CUDA toolkits that compile for a GPU, and the branches of the driver that support it.
struct CudaSupport {
  std::string_view first_toolkit;
  std::string_view last_toolkit;  // empty: current toolkits compile for it
  int first_driver = 0;           // the oldest branch that the first toolkit runs on
  int last_driver = 0;            // 0: current drivers support it
};
// docs.nvidia.com/datacenter/tesla/drivers, "CUDA Toolkit, Driver, and Architecture Matrix"; the first branches of the
// CUDA toolkit's release notes, "CUDA Toolkit and Corresponding Driver Versions"
CudaSupport cuda_support(const GpuProduct& product);

}  // namespace railbed
