#include "hardware/gpu_speed.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "hardware/gpu_product.h"

namespace railbed {
namespace {

constexpr std::string_view kKeplerSource =
    "K20 board specification BD-06455; rates as NVIDIA announced K20 and K20X in November 2012";
constexpr std::string_view kMaxwellSource = "Tesla M4 as NVIDIA announced it (anandtech.com/show/9776)";
constexpr std::string_view kPascalSource = "Tesla P100 data sheet; it has no tensor cores";
// Their own 16-bit units have a 64th of the rate (CUDA C++ Programming Guide, compute capability 6.1), so cuBLAS
// multiplies 16-bit matrices with the 32-bit units.
constexpr std::string_view kSmallPascalSource =
    "Tesla P4 and P40 data sheets; 16-bit numbers by 32-bit units";
constexpr std::string_view kV100Source = "V100 data sheet";
constexpr std::string_view kTuringSource = "T4 data sheet; memory of its product brief, PB-09256";
constexpr std::string_view kTuringPaperSource = "Turing architecture white paper";
constexpr std::string_view kA100Source = "A100 data sheet";
constexpr std::string_view kA800Source = "A800 data sheet";
constexpr std::string_view kAmpereCardsSource = "A2, A10, A30 and A40 data sheets";
constexpr std::string_view kGa102Source = "GA102 architecture white paper";
constexpr std::string_view kAdaSource = "Ada architecture white paper";
constexpr std::string_view kAdaCardsSource = "L4, L40 and L40S data sheets";
constexpr std::string_view kH100Source = "H100 data sheet";
constexpr std::string_view kH800Source = "H800 data sheet";
constexpr std::string_view kH20Source = "H20 product brief";
constexpr std::string_view kH200Source = "H200 data sheet";
constexpr std::string_view kGh200Source = "GH200 data sheet";
constexpr std::string_view kHgxSource =
    "HGX platform page and DGX B200 data sheet, half of the figures with sparsity";
constexpr std::string_view kNvl72Source = "GB200 and GB300 NVL72 pages, half of the figures with sparsity";
constexpr std::string_view kRtxBlackwellSource = "RTX Blackwell architecture white paper";
constexpr std::string_view kRtxProSource = "RTX PRO Blackwell architecture white paper";
// NVIDIA states 1 PFLOP/s of FP4 with sparsity and 273 GB/s for GB10. The ratios of the other types to FP4
// are those of RTX PRO 6000, which has the same multiprocessors.
constexpr std::string_view kGb10Source =
    "DGX Spark data sheet: FP4; other types by the ratios of RTX PRO 6000";

constexpr GpuSpeed kSpeeds[] = {
    {"K20", 3.52, 0, 0, 0, 208, false, false, kKeplerSource, 1.17, 1.17},
    {"K20X", 3.95, 0, 0, 0, 250, false, false, kKeplerSource, 1.31, 1.31},
    {"M4", 2.2, 0, 0, 0, 88, false, false, kMaxwellSource},
    {"P4", 5.5, 0, 5.5, 0, 192, false, false, kSmallPascalSource, 0, 0, 22},
    {"P40", 12, 0, 12, 0, 346, false, false, kSmallPascalSource, 0, 0, 47},
    {"P100", 9.3, 0, 18.7, 0, 732, false, false, kPascalSource, 4.7, 4.7},
    {"P100-SXM2", 10.6, 0, 21.2, 0, 732, false, true, kPascalSource, 5.3, 5.3},
    {"V100", 14, 0, 112, 0, 900, false, false, kV100Source, 7, 7},
    {"V100S", 16.4, 0, 130, 0, 1134, false, false, kV100Source, 8.2, 8.2},
    {"V100-SXM2", 15.7, 0, 125, 0, 900, false, true, kV100Source, 7.8, 7.8},
    {"V100-SXM3", 15.7, 0, 125, 0, 900, false, true, kV100Source},
    {"T4", 8.1, 0, 65, 0, 320, false, false, kTuringSource, 0, 0, 130},
    {"RTX 2080 Ti", 13.4, 0, 53.8, 0, 616, false, false, kTuringPaperSource, 0, 0, 215.2},
    {"A100", 19.5, 156, 312, 0, 1555, true, false, kA100Source, 19.5, 9.7, 624},
    {"A100 80GB PCIe", 19.5, 156, 312, 0, 1935, true, false, kA100Source, 19.5, 9.7, 624},
    {"A100-SXM4", 19.5, 156, 312, 0, 1555, true, true, kA100Source, 19.5, 9.7, 624},
    {"A100-SXM4-80GB", 19.5, 156, 312, 0, 2039, true, true, kA100Source, 19.5, 9.7, 624},
    {"A800-SXM4-80GB", 19.5, 156, 312, 0, 2039, true, true, kA800Source, 19.5, 9.7, 624},
    {"A800 80GB PCIe", 19.5, 156, 312, 0, 1935, true, false, kA800Source, 19.5, 9.7, 624},
    {"A30", 10.3, 82, 165, 0, 933, true, false, kAmpereCardsSource, 10.3, 5.2, 330},
    {"A2", 4.5, 9, 18, 0, 200, true, false, kAmpereCardsSource, 0, 0, 36},
    {"A10", 31.2, 62.5, 125, 0, 600, true, false, kAmpereCardsSource, 0, 0, 250},
    {"A40", 37.4, 74.8, 149.7, 0, 696, true, false, kAmpereCardsSource, 0, 0, 299.3},
    {"RTX A6000", 38.7, 77.4, 154.8, 0, 768, true, false, kGa102Source, 0, 0, 309.7},
    {"RTX 3090", 35.6, 35.6, 71, 0, 936, true, false, kGa102Source, 0, 0, 284},
    {"L4", 30.3, 60, 121, 242, 300, true, false, kAdaCardsSource, 0, 0, 242},
    {"L40", 90.5, 90.5, 181, 362, 864, true, false, kAdaCardsSource, 0, 0, 362},
    {"L40S", 91.6, 183, 362, 733, 864, true, false, kAdaCardsSource, 0, 0, 733},
    {"RTX 3090 Ti", 40, 40, 80, 0, 1008, true, false, kGa102Source, 0, 0, 320},
    {"RTX 4080", 48.7, 48.7, 97.5, 194.9, 716.8, true, false, kAdaSource, 0, 0, 389.9},
    {"RTX 4090", 82.6, 82.6, 165.2, 330.3, 1008, true, false, kAdaSource, 0, 0, 660.6},
    {"RTX 6000 Ada", 91.1, 182.1, 364.2, 728.5, 960, true, false, kAdaSource, 0, 0, 728.5},
    {"H100 80GB HBM3", 67, 494, 989, 1979, 3350, true, true, kH100Source, 67, 34, 1979},
    {"H100 PCIe", 51, 378, 756, 1513, 2000, true, false, kH100Source, 51, 26, 1513},
    {"H100 NVL", 60, 417, 835, 1670, 3900, true, false, kH100Source, 60, 30, 1670},
    {"H800", 67, 494, 989, 1979, 3350, true, true, kH800Source, 1, 1, 1979},
    {"H800 PCIe", 51, 378, 756, 1513, 2000, true, false, kH800Source, 0.8, 0.8, 1513},
    {"H20", 44, 74, 148, 296, 4000, true, true, kH20Source, 1, 1, 296},
    {"H200", 67, 494, 989, 1979, 4800, true, true, kH200Source, 67, 34, 1979},
    {"H200 NVL", 60, 417, 835, 1670, 4800, true, false, kH200Source, 60, 30, 1670},
    {"GH200", 67, 494, 989, 1979, 4000, true, true, kGh200Source, 67, 34, 1979},
    {"B200", 75, 1125, 2250, 4500, 8000, true, true, kHgxSource, 37, 37, 4500, 9000},
    {"B300", 75, 1125, 2250, 4500, 8000, true, true, kHgxSource, 1.25, 1.25, 153.5, 13500},
    {"GB200", 80, 1250, 2500, 5000, 8000, true, true, kNvl72Source, 40, 40, 5000, 10000},
    {"GB300", 80, 1250, 2500, 5000, 8000, true, true, kNvl72Source, 1.4, 1.4, 165, 15000},
    {"RTX 5080", 56.3, 56.3, 112.6, 225.1, 960, true, false, kRtxBlackwellSource, 0, 0, 450.2, 900.4},
    {"RTX 5090", 104.8, 104.8, 209.5, 419, 1792, true, false, kRtxBlackwellSource, 0, 0, 838, 1676},
    {"RTX PRO 6000", 126, 251.9, 503.8, 1007.6, 1792, true, false, kRtxProSource, 0, 0, 1007.6, 2015.2},
    {"GB10", 31, 62.5, 125, 250, 273, true, false, kGb10Source, 0, 0, 0, 500},
};

// Cards for notebooks, those with half the power, those for China and refreshed ones share the name of another.
bool is_variant_of_another(std::string_view small, std::string_view row) {
  constexpr std::string_view kVariants[] = {"laptop", "max-q", "mobile", "super", "ti", "d"};
  const auto has = [](std::string_view text, std::string_view wanted) {
    return std::ranges::any_of(words(text), [&](std::string_view word) { return word == wanted; });
  };
  return std::ranges::any_of(
      kVariants, [&](std::string_view variant) { return has(small, variant) && !has(row, variant); });
}

// Editions of a row's product that have other memory or other rates.
struct OtherEdition {
  std::string_view row;
  std::string_view mark;  // in the edition's name
};
constexpr OtherEdition kOtherEditions[] = {
    {"A100", "64gb"},  {"A100", "80gb"},   {"H20", "-3e"},  {"H20", "hbm3e"},
    {"GH200", "144g"}, {"GH200", "hbm3e"}, {"H200", "-3e"}, {"RTX PRO 6000", "server edition"},
};

bool is_other_edition(std::string_view small, std::string_view row) {
  return std::ranges::any_of(kOtherEditions, [&](const OtherEdition& other) {
    return other.row == row && small.find(other.mark) != std::string_view::npos;
  });
}

// Returns whether the name states a size of memory that the product does not have: "P100-PCIE-12GB". A B200 is sold with
// 192 GB and shows 180. The size in "GH200 480GB" is its processor's.
bool states_other_memory(std::string_view small) {
  const GpuProduct* product = find_gpu_product(small);
  const std::size_t end = small.find("gb");
  if (product == nullptr || product->memory_gb == 0 || product->name == "GH200" ||
      end == std::string_view::npos || end == 0)
    return false;
  std::size_t begin = end;
  while (begin > 0 && is_digit(small[begin - 1])) --begin;
  const auto size = parse_number<int>(small.substr(begin, end - begin));
  constexpr double kRounding = 0.1;
  return size && std::abs(*size - product->memory_gb) > kRounding * product->memory_gb;
}

// The driver names a Kepler board by its cooling: K20m for servers, K20c for workstations, K20s for neither's bracket.
bool is_cooling(std::string_view row, std::string_view rest) {
  return row.starts_with("k20") && (rest == "m" || rest == "c" || rest == "s");
}

// Returns whether the name is that of another product than the row's, or of a part of this one: A10G and RTX 4090D go on with
// a letter, A40-48Q is a virtual GPU, "A100 MIG 1g.5gb" an instance.
bool names_another(std::string_view small, std::string_view row) {
  const std::string name = lower(row);
  const std::string_view rest = small.substr(small.find(name) + name.size());
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool goes_on = !rest.empty() && is_letter(rest.front()) && !is_cooling(name, rest);
  const bool is_slice = names_gpu(rest, "mig");
  const bool is_virtual = rest.size() > 2 && rest.front() == '-' && is_digit(rest[1]) &&
                          is_letter(rest.back()) && !rest.ends_with("gb");
  return goes_on || is_slice || is_virtual || is_variant_of_another(small, name) ||
         is_other_edition(small, row) || states_other_memory(small);
}

}  // namespace

double GpuSpeed::teraflops(MatrixType type) const {
  switch (type) {
    case MatrixType::kBf16:
      return bf16 ? half : 0;
    case MatrixType::kFp16:
      return half;
    case MatrixType::kFp8:
      return fp8;
    case MatrixType::kTf32:
      return tf32;
    case MatrixType::kFp32:
      return fp32;
  }
  return 0;
}

std::span<const GpuSpeed> gpu_speeds() { return kSpeeds; }

const GpuSpeed* find_gpu_speed(std::string_view model) {
  if (is_of_another_maker(model)) return nullptr;
  const std::string small = lower(model);
  const GpuSpeed* best = nullptr;
  for (const GpuSpeed& row : kSpeeds)
    if ((best == nullptr || row.name.size() > best->name.size()) && names_gpu(small, lower(row.name)))
      best = &row;
  return best == nullptr || names_another(small, best->name) ? nullptr : best;
}

const GpuSpeed* find_module_speed(std::string_view model) {
  if (is_of_another_maker(model)) return nullptr;
  const GpuSpeed* found = find_gpu_speed(model);
  if (found != nullptr && found->module) return found;
  std::string small = lower(model);
  // "A100 SXM4 80GB" is what people write; the driver's name for it has hyphens.
  std::string joined = small;
  std::ranges::replace(joined, ' ', '-');
  if (const GpuSpeed* exact = find_gpu_speed(joined); exact != nullptr && exact->module) return exact;
  if (found == nullptr && states_other_memory(joined)) return nullptr;
  // "A100 80GB": of the modules the one that has both words in its name.
  const auto spoken = words(small);
  if (spoken.size() > 1)
    for (const GpuSpeed& row : kSpeeds)
      if (row.module && std::ranges::all_of(
                            spoken, [&](std::string_view word) { return names_gpu(lower(row.name), word); }))
        return &row;
  // "H100 SXM5": there it has no SXM.
  small.resize(std::min(small.size(), small.find(" sxm")));
  for (const GpuSpeed& row : kSpeeds)
    if (!small.empty() && row.module && names_gpu(lower(row.name), small)) return &row;
  return found;
}

}  // namespace railbed
