#include "hardware/driver_module.h"

#include <algorithm>

#include "base/text.h"
#include "facts/facts.h"

namespace railbed {
namespace {

// Grace Hopper and what is newer than Hopper work with the open module alone, and what is older than Turing, which has
// no system processor (GSP), with the proprietary one: NVIDIA Driver Installation Guide, "Kernel Modules"; NVIDIA,
// "Transitions Fully Towards Open-Source GPU Kernel Modules".
std::optional<ModuleKind> only_module(GpuArchitecture architecture, bool grace) {
  if (architecture < GpuArchitecture::kTuring) return ModuleKind::kProprietary;
  if (architecture >= GpuArchitecture::kBlackwell || grace) return ModuleKind::kOpen;
  return std::nullopt;
}

constexpr std::string_view kGraceHopper = "GH200";
constexpr PciNumbers kGraceHoppers = {0x2340, 0x234f};  // pci.ids: GH200 120GB, 480GB and 144G

int last_driver_of(GpuArchitecture architecture) {
  const auto products = gpu_products();
  const auto row = std::ranges::find(products, architecture, &GpuProduct::architecture);
  return row == products.end() ? 0 : cuda_support(*row).last_driver;
}

std::optional<GpuGeneration> by_number(const Facts& facts, const std::string& address) {
  const PciDevice* device = find_pci(items(facts.pci), address);
  if (device == nullptr || !device->device) return std::nullopt;
  const auto architecture = gpu_architecture(*device->device);
  if (!architecture) return std::nullopt;
  return GpuGeneration{*architecture, only_module(*architecture, kGraceHoppers.hold(*device->device)),
                       last_driver_of(*architecture)};
}

const GpuProduct* named_product(const Gpu& gpu) {
  const bool named = gpu.nvml && gpu.nvml->name;
  return find_gpu_product(named ? *gpu.nvml->name : gpu.model ? *gpu.model : gpu.pci_name.value_or(""));
}

// Returns the newer of the events that show a module of either kind being loaded; null if there is none, or if their
// order is not known.
const LogEvent* last_load(const Facts& facts) {
  if (!facts.kernel_log) return nullptr;
  const LogEvent* last = nullptr;
  for (const LogEvent& event : facts.kernel_log->events) {
    if (event.kind != LogKind::kOpenModuleLoaded && event.kind != LogKind::kClosedModuleLoaded) continue;
    if (last != nullptr && !(event.last > last->last) && !(event.last < last->last)) return nullptr;
    if (last == nullptr || event.last > last->last) last = &event;
  }
  return last;
}

std::string version_word(std::string_view text) {
  for (const auto word : words(text))
    if (is_driver_version(word)) return std::string(word);
  return {};
}

}  // namespace

std::optional<ModuleKind> only_module(const GpuProduct& product) {
  return only_module(product.architecture, product.name == kGraceHopper);
}

std::optional<GpuGeneration> generation_of(const Facts& facts, const Gpu& gpu) {
  if (const auto found = by_number(facts, gpu.pci_address)) return found;
  const GpuProduct* product = named_product(gpu);
  if (product == nullptr) return std::nullopt;
  return GpuGeneration{product->architecture, only_module(*product), cuda_support(*product).last_driver};
}

std::optional<ModuleKind> asked_for_by(const LogEvent& event) {
  if (event.kind == LogKind::kGpuNeedsOpenModule) return ModuleKind::kOpen;
  const bool refused =
      event.kind == LogKind::kGpuUnsupported && event.text.find("supported by open") != std::string::npos;
  return refused ? std::optional(ModuleKind::kProprietary) : std::nullopt;
}

std::optional<SeenModule> loaded_module(const Facts& facts) {
  const Reading<bool>& open = facts.gpus.open_module;
  if (open) return SeenModule{*open ? ModuleKind::kOpen : ModuleKind::kProprietary, open.from()};
  const LogEvent* load = last_load(facts);
  if (load == nullptr) return std::nullopt;
  return SeenModule{load->kind == LogKind::kOpenModuleLoaded ? ModuleKind::kOpen : ModuleKind::kProprietary,
                    facts.kernel_log.from()};
}

std::optional<SeenModule> module_on_disk(const Facts& facts) {
  const Reading<bool>& open = facts.gpus.open_on_disk;
  if (!open) return std::nullopt;
  return SeenModule{*open ? ModuleKind::kOpen : ModuleKind::kProprietary, open.from()};
}

std::string module_version(const Facts& facts) {
  if (facts.gpus.driver_version) return *facts.gpus.driver_version;
  if (facts.gpus.module_file && !facts.gpus.module_file->version.empty())
    return facts.gpus.module_file->version;
  const LogEvent* load = last_load(facts);
  return load == nullptr ? std::string() : version_word(load->text);
}

}  // namespace railbed
