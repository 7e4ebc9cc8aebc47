// A GPU's data sheet: what this room's tables know of a model, in one struct, for comparison with others.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "hardware/technology.h"

namespace railbed {

// Rates are dense (without sparsity), with sums of 32 bits. An empty number: its maker does not publish it. 0: it has
// no such unit.
struct GpuSheet {
  std::string name;                     // a part of the driver's name for it
  std::vector<std::string> nodes = {};  // that have it, if it was looked up for nodes
  std::string architecture;
  std::string capability;  // compute capability: "8.0"
  std::optional<int> multiprocessors;
  std::optional<int> cores;    // CUDA cores: units for 32-bit numbers
  std::optional<double> fp64;  // TFLOP/s of the general units
  std::optional<double>
      fp64_tensor;             // of tensor cores, as are all below but FP32 and what is older than they
  std::optional<double> fp32;  // of the general units
  std::optional<double> tf32;
  std::optional<double> bf16;
  std::optional<double> fp16;
  std::optional<double> fp8;
  std::optional<double> fp4;
  std::optional<double> int8;  // TOP/s
  int memory_gb = 0;
  std::string memory_kind;             // "HBM2e"
  std::optional<int> memory_bus;       // bits
  double memory_bandwidth = 0;         // GB/s
  std::string nvlink;                  // "none", "bridge", "board", "switch", "to its processor"
  int nvlink_generation = 0;           // 0: no NVLink to other GPUs
  double nvlink_bandwidth = 0;         // GB/s of all links, both directions together, as data sheets have it
  std::optional<int> pcie_generation;  // of the GPU itself
  std::optional<int> pcie_lanes;
  std::optional<bool> whole_bar1;  // it can map all its memory on PCI
  std::optional<bool> ecc;         // it ships with error correction on
  std::optional<int> watts;
  std::optional<int> nvenc;                  // video encoders
  std::optional<int> nvdec;                  // video decoders
  std::optional<int> nvjpeg;                 // JPEG decoders
  std::string form;                          // "SXM4 module"
  int mig = 0;                               // most MIG instances
  int first_driver = 0;                      // branch
  int last_driver = 0;                       // 0: current ones support it
  std::string first_toolkit;                 // CUDA
  std::string last_toolkit;                  // empty: current ones compile for it
  std::vector<TechnologyCell> technologies;  // beside a ConnectX-7 and an NVMe drive, eight in a node
  std::vector<std::string> sources;
  FIELDS(GpuSheet, name, nodes, architecture, capability, multiprocessors, cores, fp64, fp64_tensor, fp32,
         tf32, bf16, fp16, fp8, fp4, int8, memory_gb, memory_kind, memory_bus, memory_bandwidth, nvlink,
         nvlink_generation, nvlink_bandwidth, pcie_generation, pcie_lanes, whole_bar1, ecc, watts, nvenc,
         nvdec, nvjpeg, form, mig, first_driver, last_driver, first_toolkit, last_toolkit, technologies,
         sources);

  // Returns the first CUDA toolkit that NCCL is built with for it: NCCL itself asks for 7.0 (docs.nvidia.com/deeplearning/nccl,
  // 2.4, "Installing NCCL").
  std::string first_nccl_toolkit() const { return first_toolkit.starts_with("6.") ? "7.0" : first_toolkit; }
};

// Returns the names of all models with a sheet, oldest architecture first.
std::vector<std::string_view> gpu_sheet_names();
// Returns the sheets of what a person or a driver calls `model`. A name that several products share ("V100") gives
// each of them. Empty if there is none.
std::vector<GpuSheet> gpu_sheets(std::string_view model);
// Returns how many CUDA cores a multiprocessor of this compute capability has; 0 if the table has none.
int cores_per_multiprocessor(int capability);
// Returns GB/s by the bus and the rate of a pin, nullopt if one is not published.
std::optional<double> gpu_pin_bandwidth(std::string_view sheet);

}  // namespace railbed
