// NVIDIA's driver as packages of a system: which kind of kernel module a node's GPUs take, and what installs
// it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

enum class ModuleKind { kOpen, kProprietary };

struct ModuleChoice {
  std::optional<ModuleKind> kind = {};  // none: nothing tells
  bool by_hardware = false;             // the GPU takes no other one
};
// By the GPUs that facts show, else by `expect.gpu_model`; what they leave open `configure.driver_kind` says,
// and else the branch.
ModuleChoice module_choice(const Target& target, int branch);

// 570 of "570.124.06" or "570"; none: no number of three digits stands there.
std::optional<int> driver_branch(std::string_view version);

struct PackagePlan {
  std::vector<NodeStep> steps = {};  // none: a person has to do it, as the notes say
  std::vector<std::string> notes = {};
};
PackagePlan driver_packages(const Target& target, int branch, ModuleKind kind);

// "570 is the last branch for this GPU"; none: nothing is in the way.
std::optional<std::string> why_no_driver(const Target& target, int branch);

// Where NVIDIA has a package for this system, and what tells whether the node looks there.
std::string nvidia_repository(const Target& target, std::string_view package);

}  // namespace railbed
