#include "hardware/gpu_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"
#include "hardware/gpu_model.h"
#include "hardware/gpu_product.h"
#include "hardware/gpu_speed.h"

namespace railbed {
namespace {

// NVENC, NVDEC and NVJPEG: developer.nvidia.com/video-encode-decode-support-matrix, data sheets, MIG user guide.
// Pins in Gb/s; -1: not published. NVLink in GB/s, both directions together, as data sheets count it.
struct GpuBuild {
  std::string_view name;
  int multiprocessors;
  int cores;
  std::string_view memory;
  int bus;
  double pin;
  double nvlink;
  int pcie;
  int lanes;
  int nvenc;
  int nvdec;
  int nvjpeg;
  std::string_view form;
  std::string_view source;
};

constexpr int kUnstated = -1;  // not published

constexpr std::string_view kKeplerBuild =
    "K20 board specification BD-06455; Kepler GK110 white paper: 192 cores in each multiprocessor";
constexpr std::string_view kMaxwellBuild =
    "Tesla M4 as NVIDIA announced it (anandtech.com/show/9776); Maxwell tuning guide: 128 cores in each multiprocessor";
constexpr std::string_view kSmallPascalBuild =
    "Pascal architecture white paper (GP104, GP102); P4 and P40 data sheets";
constexpr std::string_view kPascalBuild = "Tesla P100 white paper";
constexpr std::string_view kVoltaBuild = "Volta V100 white paper; V100 and V100S data sheets";
constexpr std::string_view kTuringBuild = "Turing architecture white paper; T4 product brief PB-09256";
constexpr std::string_view kGa100Build = "A100 white paper and data sheets";
constexpr std::string_view kA800Build = "A800 data sheet";
constexpr std::string_view kA30Build = "A30 data sheet and product brief PB-10418; MIG user guide";
constexpr std::string_view kGa10xBuild = "A2, A10 and A40 data sheets and product briefs";
constexpr std::string_view kGa102Build = "GA102 architecture white paper";
constexpr std::string_view kAdaBuild = "Ada architecture white paper";
constexpr std::string_view kAdaCardsBuild =
    "L4, L40 and L40S data sheets and product briefs; Ada architecture white paper";
constexpr std::string_view kHopperBuild = "H100 white paper and data sheet; MIG user guide";
constexpr std::string_view kH100NvlBuild = "H100 NVL product brief PB-11773; H100 data sheet";
constexpr std::string_view kH800Build = "H800 data sheet";
constexpr std::string_view kH20Build = "H20 product brief";
constexpr std::string_view kH200Build =
    "H200 page and H200 NVL brief PB-12128; MIG user guide; SMs as devices report them";
constexpr std::string_view kGh200Build = "GH200 data sheet; Grace Hopper white paper";
constexpr std::string_view kBlackwellBuild = "DGX B200 and GB200 NVL72 data sheets; MIG user guide";
constexpr std::string_view kUltraBuild =
    "HGX B300 and GB300 NVL72 pages; Blackwell Ultra data sheet of October 2025, and NVIDIA's article on the chip";
constexpr std::string_view kRtxBlackwellBuild = "RTX Blackwell architecture white paper";
constexpr std::string_view kRtxProBuild =
    "RTX PRO Blackwell white paper; RTX PRO 6000 data sheet; MIG user guide";
constexpr std::string_view kSparkBuild = "DGX Spark hardware overview, docs.nvidia.com/dgx/dgx-spark";
// clang-format off
constexpr GpuBuild kBuilds[] = {
    // name, SMs, cores, memory, bus, pin, NVLink, PCIe, lanes, NVENC, NVDEC, NVJPEG, form
    {"K20", 13, 2496, "GDDR5", 320, 5.2, 0, 2, 16, kUnstated, kUnstated, 0, "card, 2 slots", kKeplerBuild},
    {"K20X", 14, 2688, "GDDR5", 384, 5.2, 0, 2, 16, kUnstated, kUnstated, 0, "card, 2 slots", kKeplerBuild},
    {"M4", 8, 1024, "GDDR5", 128, 5.5, 0, 3, 16, kUnstated, kUnstated, 0, "card, low profile", kMaxwellBuild},
    {"P4", 20, 2560, "GDDR5", 256, 6.0, 0, 3, 16, 2, 1, 0, "card, low profile", kSmallPascalBuild},
    {"P40", 30, 3840, "GDDR5", 384, 7.2, 0, 3, 16, 2, 1, 0, "card, 2 slots", kSmallPascalBuild},
    {"P100", 56, 3584, "HBM2", 4096, 1.43, 0, 3, 16, 3, 1, 0, "card, 2 slots", kPascalBuild},
    {"P100-SXM2", 56, 3584, "HBM2", 4096, 1.43, 160, 3, 16, 3, 1, 0, "SXM2 module", kPascalBuild},
    {"V100-PCIE-16GB", 80, 5120, "HBM2", 4096, 1.75, 0, 3, 16, 3, 1, 0, "card, 2 slots", kVoltaBuild},
    {"V100-PCIE-32GB", 80, 5120, "HBM2", 4096, 1.75, 0, 3, 16, 3, 1, 0, "card, 2 slots", kVoltaBuild},
    {"V100S", 80, 5120, "HBM2", 4096, 2.21, 0, 3, 16, 3, 1, 0, "card, 2 slots", kVoltaBuild},
    {"V100-SXM2-16GB", 80, 5120, "HBM2", 4096, 1.75, 300, 3, 16, 3, 1, 0, "SXM2 module", kVoltaBuild},
    {"V100-SXM2-32GB", 80, 5120, "HBM2", 4096, 1.75, 300, 3, 16, 3, 1, 0, "SXM2 module", kVoltaBuild},
    {"V100-SXM3", 80, 5120, "HBM2", 4096, kUnstated, 300, 3, 16, 3, 1, 0, "SXM3 module", kVoltaBuild},
    {"T4", 40, 2560, "GDDR6", 256, 10.0, 0, 3, 16, 1, 2, 0, "card, low profile", kTuringBuild},
    {"RTX 2080 Ti", 68, 4352, "GDDR6", 352, 14.0, 100, 3, 16, 1, 1, 0, "card, 2 slots", kTuringBuild},
    {"A100-PCIE-40GB", 108, 6912, "HBM2", 5120, 2.43, 600, 4, 16, 0, 5, 1, "card, 2 slots", kGa100Build},
    {"A100 80GB PCIe", 108, 6912, "HBM2e", 5120, 3.02, 600, 4, 16, 0, 5, 1, "card, 2 slots", kGa100Build},
    {"A100-SXM4-40GB", 108, 6912, "HBM2", 5120, 2.43, 600, 4, 16, 0, 5, 1, "SXM4 module", kGa100Build},
    {"A100-SXM4-80GB", 108, 6912, "HBM2e", 5120, 3.19, 600, 4, 16, 0, 5, 1, "SXM4 module", kGa100Build},
    {"A800 80GB PCIe", 108, 6912, "HBM2e", 5120, 3.02, 400, 4, 16, 0, 5, 1, "card, 2 slots", kA800Build},
    {"A800-SXM4-80GB", 108, 6912, "HBM2e", 5120, 3.19, 400, 4, 16, 0, 5, 1, "SXM4 module", kA800Build},
    {"A30", 56, 3584, "HBM2", 3072, 2.43, 200, 4, 16, 0, 4, 1, "card, 2 slots", kA30Build},
    {"A2", 10, 1280, "GDDR6", 128, 12.5, 0, 4, 8, 1, 2, 0, "card, low profile", kGa10xBuild},
    {"A10", 72, 9216, "GDDR6", 384, 12.5, 0, 4, 16, 1, 2, 0, "card, 1 slot", kGa10xBuild},
    {"A40", 84, 10752, "GDDR6", 384, 14.5, 112.5, 4, 16, 1, 2, 0, "card, 2 slots", kGa10xBuild},
    {"RTX A6000", 84, 10752, "GDDR6", 384, 16.0, 112.5, 4, 16, 1, 2, 0, "card, 2 slots", kGa102Build},
    {"RTX 3090", 82, 10496, "GDDR6X", 384, 19.5, 112.5, 4, 16, 1, 1, 0, "card, 3 slots", kGa102Build},
    {"RTX 3090 Ti", 84, 10752, "GDDR6X", 384, 21.0, 112.5, 4, 16, 1, 1, 0, "card, 3 slots", kGa102Build},
    {"L4", 58, 7424, "GDDR6", 192, 12.5, 0, 4, 16, 2, 4, 4, "card, low profile", kAdaCardsBuild},
    {"L40", 142, 18176, "GDDR6", 384, 18.0, 0, 4, 16, 3, 3, 4, "card, 2 slots", kAdaCardsBuild},
    {"L40S", 142, 18176, "GDDR6", 384, 18.0, 0, 4, 16, 3, 3, kUnstated, "card, 2 slots", kAdaCardsBuild},
    {"RTX 4080", 76, 9728, "GDDR6X", 256, 22.4, 0, 4, 16, 2, 1, kUnstated, "card, 3 slots", kAdaBuild},
    {"RTX 4090", 128, 16384, "GDDR6X", 384, 21.0, 0, 4, 16, 2, 1, kUnstated, "card, 3 slots", kAdaBuild},
    {"RTX 6000 Ada", 142, 18176, "GDDR6", 384, 20.0, 0, 4, 16, 3, 3, kUnstated, "card, 2 slots", kAdaBuild},
    {"H100 PCIe", 114, 14592, "HBM2e", 5120, 3.2, 600, 5, 16, 0, 7, 7, "card, 2 slots", kHopperBuild},
    {"H100 NVL", 132, 16896, "HBM3", 6016, 5.24, 600, 5, 16, 0, 7, 7, "card, 2 slots", kH100NvlBuild},
    {"H100 80GB HBM3", 132, 16896, "HBM3", 5120, 5.2, 900, 5, 16, 0, 7, 7, "SXM5 module", kHopperBuild},
    {"H800 PCIe", kUnstated, kUnstated, "HBM2e", kUnstated, kUnstated, 400, 5, 16, 0, 7, 7, "card, 2 slots", kH800Build},
    {"H800", kUnstated, kUnstated, "HBM3", kUnstated, kUnstated, 400, 5, 16, 0, 7, 7, "SXM5 module", kH800Build},
    {"H20", kUnstated, kUnstated, "HBM3", kUnstated, kUnstated, 900, 5, 16, 0, 7, 7, "SXM5 module", kH20Build},
    {"H200 NVL", 132, 16896, "HBM3e", 6016, 6.4, 900, 5, 16, 0, 7, 7, "card, 2 slots", kH200Build},
    {"H200", 132, 16896, "HBM3e", kUnstated, kUnstated, 900, 5, 16, 0, 7, 7, "SXM5 module", kH200Build},
    {"GH200", 132, 16896, "HBM3", kUnstated, kUnstated, 0, kUnstated, kUnstated, 0, 7, 7, "superchip", kGh200Build},
    {"B200", kUnstated, kUnstated, "HBM3e", kUnstated, kUnstated, 1800, 5, 16, 0, 7, 7, "SXM module", kBlackwellBuild},
    {"GB200", kUnstated, kUnstated, "HBM3e", kUnstated, kUnstated, 1800, kUnstated, kUnstated, 0, 7, 7, "superchip", kBlackwellBuild},
    {"B300", kUnstated, kUnstated, "HBM3e", 8192, kUnstated, 1800, 6, 16, kUnstated, kUnstated, kUnstated, "SXM module", kUltraBuild},
    {"GB300", kUnstated, kUnstated, "HBM3e", 8192, kUnstated, 1800, 6, kUnstated, kUnstated, kUnstated, kUnstated, "superchip", kUltraBuild},
    {"RTX PRO 6000", 188, 24064, "GDDR7", 512, 28.0, 0, 5, 16, 4, 4, 4, "card, 2 slots", kRtxProBuild},
    {"RTX 5080", 84, 10752, "GDDR7", 256, 30.0, 0, 5, 16, 2, 2, kUnstated, "card, 2 slots", kRtxBlackwellBuild},
    {"RTX 5090", 170, 21760, "GDDR7", 512, 28.0, 0, 5, 16, 3, 2, kUnstated, "card, 2 slots", kRtxBlackwellBuild},
    {"GB10", 48, 6144, "LPDDR5X", 256, 8.53, 0, kUnstated, kUnstated, 1, 1, kUnstated, "system on a chip", kSparkBuild},
};
// clang-format on

// The first driver branch that lists the product, where it is newer than the architecture's: the open kernel modules'
// table of names (github.com/NVIDIA/open-gpu-kernel-modules, g_nv_name_released.h), by its tags.
struct FirstDriver {
  std::string_view name;
  int branch;
};
constexpr FirstDriver kFirstDrivers[] = {
    {"A800 80GB PCIe", 515},
    {"RTX 4080", 525},
    {"RTX 6000 Ada", 525},
    {"L4", 525},
    {"L40", 525},
    {"L40S", 535},
    {"H800", 525},
    {"H100 80GB HBM3", 525},
    {"H100 NVL", 535},
    {"GH200", 535},
    {"H20", 535},
    {"H200", 550},
    {"H200 NVL", 565},
    {"B300", 580},
    {"GB300", 580},
    {"GB10", 580},
};

int first_driver_of(std::string_view name, const CudaSupport& support) {
  const auto* const listed = std::ranges::find(kFirstDrivers, name, &FirstDriver::name);
  return listed == std::end(kFirstDrivers) ? support.first_driver : listed->branch;
}

template <class Number>
std::optional<Number> published(Number number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

// Returns a rate of a unit: 0 if the GPU has no such unit, empty if it has one and nobody states its rate.
std::optional<double> rate_of(bool has_unit, double stated) {
  if (!has_unit) return 0;
  return stated > 0 ? std::optional(stated) : std::nullopt;
}

std::string_view nvlink_word(const GpuProduct& product) {
  if (product.market == GpuMarket::kUnified || product.name == "GH200") return "to its processor";
  constexpr std::string_view kWords[] = {"none", "bridge", "board", "switch"};
  return kWords[static_cast<std::size_t>(product.nvlink)];
}

int nvlink_generation(const GpuProduct& product) {
  switch (product.architecture) {
    case GpuArchitecture::kPascal:
      return 1;
    case GpuArchitecture::kVolta:
    case GpuArchitecture::kTuring:
      return 2;
    case GpuArchitecture::kAmpere:
      return 3;
    case GpuArchitecture::kHopper:
      return 4;
    default:
      return 5;
  }
}

// FP64 of the general units where no row states it: a fixed part of FP32 (CUDA C++ Programming Guide, "Throughput of
// Native Arithmetic Instructions"; the architectures' white papers).
double part_of_fp32(int capability) {
  if (capability == 52 || capability == 61 || capability == 75) return 1.0 / 32;
  const bool small = capability == 86 || capability == 89 || capability >= 120;
  return small ? 1.0 / 64 : 0;
}

void add_rates(GpuSheet& sheet, const GpuProduct& product, const GpuSpeed& speed) {
  const bool ampere = product.architecture >= GpuArchitecture::kAmpere;
  const int capability = product.capability;
  const bool fp64_tensor = capability == 80 || capability == 90 || (capability >= 100 && capability < 120);
  const double part = part_of_fp32(capability);
  sheet.fp64 = rate_of(true, part > 0 ? speed.fp32 * part : speed.fp64_units);
  sheet.fp64_tensor = rate_of(fp64_tensor, speed.fp64);
  sheet.fp32 = speed.fp32;
  sheet.tf32 = rate_of(ampere, speed.tf32);
  // CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions": 16-bit numbers begin with 5.3, products of
  // bytes with 6.1.
  sheet.fp16 = rate_of(capability >= 53, speed.half);
  sheet.bf16 = rate_of(speed.bf16, speed.half);
  sheet.fp8 = rate_of(product.architecture >= GpuArchitecture::kAda, speed.fp8);
  sheet.fp4 = rate_of(product.architecture >= GpuArchitecture::kBlackwell, speed.fp4);
  sheet.int8 = rate_of(capability >= 61, speed.int8);
}

std::vector<TechnologyCell> technologies_of(std::string_view name, const GpuProduct& product) {
  TechnologyStack stack;
  stack.gpu = name;
  stack.adapters = {"ConnectX-7"};
  stack.nvme = true;
  stack.gpus = product.market == GpuMarket::kUnified ? 1 : 8;
  auto cells = technology_cells(stack);
  std::erase_if(cells, [](const TechnologyCell& cell) {
    return cell.technology == "Operating system" || cell.technology == "RDMA";
  });
  return cells;
}

GpuSheet sheet_of(const GpuBuild& build) {
  GpuSheet sheet;
  sheet.name = build.name;
  const GpuProduct* product = find_gpu_product(build.name);
  const GpuSpeed* speed = find_gpu_speed(build.name);
  const GpuModel* model = find_gpu_model(build.name);
  sheet.sources = {std::string(build.source)};
  sheet.multiprocessors = published(build.multiprocessors);
  sheet.cores = published(build.cores);
  sheet.memory_kind = build.memory;
  sheet.memory_bus = published(build.bus);
  sheet.pcie_generation = published(build.pcie);
  sheet.pcie_lanes = published(build.lanes);
  sheet.nvenc = published(build.nvenc);
  sheet.nvdec = published(build.nvdec);
  sheet.nvjpeg = published(build.nvjpeg);
  sheet.form = build.form;
  sheet.nvlink_bandwidth = build.nvlink;
  if (model != nullptr && model->whole_bar1) sheet.whole_bar1 = true;
  if (model != nullptr && model->ecc) sheet.ecc = true;
  if (product == nullptr || speed == nullptr)
    return sheet;  // GpuSheet.EachRowHasItsProductAndSpeed holds them
  sheet.sources.insert(sheet.sources.begin(), std::string(speed->source));
  sheet.architecture = enum_names(product->architecture)[static_cast<std::size_t>(product->architecture)];
  sheet.capability = fmt::format("{}.{}", product->capability / 10, product->capability % 10);
  add_rates(sheet, *product, *speed);
  sheet.memory_gb = product->memory_gb;
  sheet.memory_bandwidth = speed->bandwidth;
  sheet.nvlink = nvlink_word(*product);
  if (build.nvlink > 0) sheet.nvlink_generation = nvlink_generation(*product);
  if (product->watts > 0) sheet.watts = product->watts;
  sheet.mig = product->mig;
  const CudaSupport support = cuda_support(*product);
  sheet.first_driver = first_driver_of(build.name, support);
  sheet.last_driver = support.last_driver;
  sheet.first_toolkit = support.first_toolkit;
  sheet.last_toolkit = support.last_toolkit;
  sheet.technologies = technologies_of(build.name, *product);
  return sheet;
}

// Returns the row that the name states; null for a name that several rows share, and for another product of its line.
const GpuBuild* find_build(std::string_view model) {
  const GpuBuild* best = nullptr;
  const std::string small = lower(model);
  for (const GpuBuild& row : kBuilds)
    if ((best == nullptr || row.name.size() > best->name.size()) && names_gpu(small, lower(row.name)))
      best = &row;
  if (best == nullptr || find_gpu_speed(model) == nullptr) return nullptr;
  const GpuProduct* product = find_gpu_product(model);
  return product != nullptr && product != find_gpu_product(best->name) ? nullptr : best;
}

// Returns whether a row that has `small` in its name is of the line that a person calls so: "A100", "4090" and "RTX 40" are
// lines, but not "RTX" and "80GB", which rows of several lines have.
bool is_line(std::string_view small, std::string_view row) {
  if (find_gpu_product(small) != nullptr) return true;
  const std::string name = lower(row);
  // The first word with a digit makes a row one of its line.
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t end = std::min(name.find_first_of(" -", begin), name.size());
    const std::string_view word = std::string_view(name).substr(begin, end - begin);
    if (std::ranges::any_of(word, is_digit)) return names_gpu(small, word);
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::vector<std::string_view> gpu_sheet_names() {
  std::vector<std::string_view> names;
  for (const GpuBuild& row : kBuilds) names.push_back(row.name);
  return names;
}

std::vector<GpuSheet> gpu_sheets(std::string_view model) {
  std::vector<GpuSheet> sheets;
  const std::string small = lower(model);
  for (const GpuBuild& row : kBuilds)  // its own name
    if (lower(row.name) == small) return {sheet_of(row)};
  for (const GpuBuild& row : kBuilds)  // what a person calls a line: "A100", "V100-SXM2"
    if (!small.empty() && is_gpu_called(row.name, model) && is_line(small, row.name))
      sheets.push_back(sheet_of(row));
  if (!sheets.empty()) return sheets;
  if (const GpuBuild* row = find_build(model)) return {sheet_of(*row)};
  // "NVIDIA H100", "Tesla V100": what is behind the maker's words is the line.
  for (const std::string_view maker : {"nvidia ", "tesla ", "geforce "})
    if (small.starts_with(maker)) return gpu_sheets(std::string_view(small).substr(maker.size()));
  return {};
}

int cores_per_multiprocessor(int capability) {
  switch (capability) {
    case 35:
      return 192;
    case 60:
    case 70:
    case 75:
    case 80:
      return 64;
    case 52:
    case 61:
    case 86:
    case 89:
    case 90:
    case 100:
    case 103:
    case 120:
    case 121:
      return 128;
    default:
      return 0;
  }
}

std::optional<double> gpu_pin_bandwidth(std::string_view sheet) {
  const auto row = std::ranges::find(kBuilds, sheet, &GpuBuild::name);
  if (row == std::end(kBuilds) || row->bus < 0 || row->pin < 0) return std::nullopt;
  return row->bus * row->pin / 8;
}

}  // namespace railbed
