// NVIDIA's driver as packages of a system: the kind of kernel module that a node's GPUs need, and the
// packages that install it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shell.h"
#include "hardware/driver_module.h"
#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

// The kind of kernel module for a node.
struct ModuleChoice {
  std::optional<ModuleKind> kind = {};  // nullopt if undecided
  bool by_hardware = false;             // the GPU supports only this kind
};
// Decides by the GPUs in the facts, else by `expect.gpu_model`. What they leave open, `configure.driver_kind`
// decides, and else the branch.
ModuleChoice module_choice(const NodeView& node, int branch);

// Returns 570 for "570.124.06" or "570"; nullopt if the text does not start with a number of three digits.
std::optional<int> driver_branch(std::string_view version);

// Returns the package of the driver: of Ubuntu's server branch, else of NVIDIA's repository.
std::string driver_package(const Platform& platform, int branch, ModuleKind kind);

// Returns the commands by which a person replaces a driver by one of this branch and kind.
std::vector<ShellCommand> driver_commands(const Platform& platform, int branch, ModuleKind kind);

// Steps that install the driver.
struct PackagePlan {
  std::vector<NodeStep> steps = {};  // empty if a person has to act; the notes explain it
  std::vector<std::string> notes = {};
  std::string from_nvidia = {};  // the package that is in NVIDIA's repository; empty: none
};
PackagePlan driver_packages(const Target& target, int branch, ModuleKind kind);

// Returns why this branch cannot be installed, such as "570 is the last branch for this GPU"; nullopt if it
// can.
std::optional<std::string> why_no_driver(const Target& target, int branch);

}  // namespace railbed
