// How fast GPUs compute and read their memory, by their data sheets.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace railbed {

// The numbers that matrix products multiply. Sums have 32 bits.
enum class MatrixType { kBf16, kFp16, kFp8, kTf32, kFp32 };
constexpr auto enum_names(MatrixType) {
  return std::array<std::string_view, 5>{"bf16", "fp16", "fp8", "tf32", "fp32"};
}

// Rates are TFLOP/s without sparsity, with sums of 32 bits; 0: the GPU has no such unit, or no data sheet
// states it (GpuSheet tells which). GeForce cards compute 16-bit products with 32-bit sums at half the advertised rate.
struct GpuSpeed {
  std::string_view name;  // a part of the driver's or the user's name for it, as in GpuProduct
  double fp32;            // of the general units
  double tf32;            // of tensor cores
  double half;            // 16-bit numbers, of tensor cores if it has them
  double fp8;
  double bandwidth;  // GB/s of its memory
  bool bf16;         // its 16-bit units take BF16 as well as FP16
  bool module;       // SXM or a superchip, not a card: preferred where a node's GPUs have NVLink
  std::string_view source;
  double fp64 = 0;  // of tensor cores if they take such numbers; 0: only a few units, or not in this table
  double fp64_units = 0;  // of the general units, where they are not a fixed part of the 32-bit ones
  double int8 = 0;        // TOP/s; of tensor cores if they take such numbers
  double fp4 = 0;

  // Returns TFLOP/s; 0 if it has no such unit.
  double teraflops(MatrixType type) const;
};

std::span<const GpuSpeed> gpu_speeds();
// Returns the row with the longest name that is in `model` as a word; null if there is none. The case of
// letters does not count. "H100" alone is no row: three products of that name differ. Null, too, for cards of
// notebooks and other namesakes, for editions with other memory, for virtual GPUs and for MIG's instances: rates of another
// product are worse than none.
const GpuSpeed* find_gpu_speed(std::string_view model);
// The same for a GPU of a node whose GPUs have NVLink among each other: "H100" is then the module.
const GpuSpeed* find_module_speed(std::string_view model);

}  // namespace railbed
