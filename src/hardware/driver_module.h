// The two kinds of NVIDIA's kernel module: which of them drives a GPU, and which of them a machine has.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "hardware/gpu_product.h"

namespace railbed {

struct Facts;
struct Gpu;
struct LogEvent;

enum class ModuleKind { kOpen, kProprietary };
constexpr auto enum_names(ModuleKind) { return std::array<std::string_view, 2>{"open", "proprietary"}; }
constexpr std::string_view name_of(ModuleKind kind) {
  return enum_names(kind)[static_cast<std::size_t>(kind)];
}

// Returns the only kind that drives such a GPU; nullopt if both do.
std::optional<ModuleKind> only_module(const GpuProduct& product);

// A GPU of a machine, by its number on PCI, else by the name that NVML, the driver or lspci gives it.
struct GpuGeneration {
  GpuArchitecture architecture = GpuArchitecture::kKepler;
  std::optional<ModuleKind> only = {};  // the only kind of module that drives it; empty: both do
  int last_driver = 0;                  // the last branch of drivers that supports it; 0: current ones do
};
std::optional<GpuGeneration> generation_of(const Facts& facts, const Gpu& gpu);

// Returns the kind that the driver asks for in a message about a GPU; nullopt for other messages. The open module refuses a
// GPU without a system processor, of a generation before Turing.
std::optional<ModuleKind> asked_for_by(const LogEvent& event);

// A kind that was seen, and where.
struct SeenModule {
  ModuleKind kind;
  std::string from;
};
// Returns the module that is loaded, or that the kernel's log shows as the last to be loaded.
std::optional<SeenModule> loaded_module(const Facts& facts);
// Returns the module on the disk, which the next boot loads.
std::optional<SeenModule> module_on_disk(const Facts& facts);
// Returns "580.95.05" of the module that is loaded, else of the one on the disk, else of the log; empty if unknown.
std::string module_version(const Facts& facts);

}  // namespace railbed
