#include "model/container_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::string_view kNvidiaRuntime = "nvidia";

bool is_nvidia_runtime(const EngineRuntime& runtime) {
  const std::string_view program = std::string_view(runtime.program).substr(runtime.program.rfind('/') + 1);
  return runtime.name == kNvidiaRuntime || program.starts_with("nvidia-container-runtime");
}

bool runs(const NodeView& node, std::string_view name) {
  const Service* const service = find_service(node, {name});
  return service != nullptr && service->active_state == "active";
}

bool asks_for_runtime(const NodeView& node, std::string_view engine) {
  if (node.wanted == nullptr) return false;
  const auto& engines = node.wanted->configure.nvidia_runtime;
  if (engines && std::ranges::find(*engines, engine) != engines->end()) return true;
  return engine == "docker" && node.expect().container && !asks_for_podman(node);
}

std::optional<bool> names_runtime(const Reading<EngineFiles>& files) {
  if (files.absent()) return false;
  if (!files.ok()) return std::nullopt;
  return std::ranges::any_of(files->runtimes, is_nvidia_runtime);
}

std::optional<bool> names_runtime(const Reading<std::vector<std::string>>& runtimes) {
  if (runtimes.absent()) return false;
  if (!runtimes.ok()) return std::nullopt;
  return std::ranges::find(*runtimes, kNvidiaRuntime) != runtimes->end();
}

// Returns the numbers of /dev/nvidiaN; nullopt unless there is one for each GPU: until something has opened the driver, the
// files are not made.
std::optional<std::set<int>> all_device_nodes(const Gpus& gpus) {
  if (!gpus.device_nodes.ok() || !gpus.devices.ok() || gpus.devices->empty() ||
      gpus.device_nodes->size() < gpus.devices->size())
    return std::nullopt;
  return std::set<int>(gpus.device_nodes->begin(), gpus.device_nodes->end());
}

// Returns the GPUs' UUIDs; nullopt unless each is known.
std::optional<std::set<std::string>> all_uuids(const Gpus& gpus) {
  if (!gpus.devices.ok()) return std::nullopt;
  std::set<std::string> uuids;
  for (const Gpu& gpu : *gpus.devices) {
    const bool by_nvml = gpu.nvml.ok() && gpu.nvml->uuid.ok();
    if (!by_nvml && !gpu.uuid.ok()) return std::nullopt;
    uuids.insert(lower(by_nvml ? *gpu.nvml->uuid : *gpu.uuid));
  }
  return uuids;
}

}  // namespace

bool asks_for_podman(const NodeView& node) {
  return node.expect().container && node.expect().container_runtime == "podman";
}

std::vector<EngineGpus> engine_gpus(const NodeView& node) {
  std::vector<EngineGpus> all;
  if (node.gpus().empty()) return all;
  const ContainerEngines& engines = node.facts->system.engines;
  // A folder of CDI may hold descriptions that others make and railbed does not read: Kubernetes' device plugin, DRA.
  const bool no_other_way = engines.toolkit.value_or(false) && engines.cdi.absent();
  EngineGpus docker{.engine = "docker",
                    .asked = asks_for_runtime(node, "docker"),
                    .installed = is_loaded_unit(node, "docker"),
                    .runtime = names_runtime(engines.docker_runtimes)};
  docker.plainly_lacks =
      no_other_way && engines.hook.absent() && docker.runtime == false && runs(node, "docker");
  EngineGpus containerd{.engine = "containerd",
                        .asked = asks_for_runtime(node, "containerd"),
                        .installed = is_loaded_unit(node, "containerd"),
                        .runtime = names_runtime(engines.containerd)};
  containerd.plainly_lacks = no_other_way && engines.containerd.ok() && engines.containerd->cri &&
                             containerd.runtime == false && runs(node, "containerd") &&
                             runs(node, "kubelet") && !engines.crio_runs.value_or(false);
  const EngineGpus crio{.engine = "crio",
                        .asked = asks_for_runtime(node, "crio"),
                        .installed = engines.crio_runs.value_or(false),
                        .runtime = names_runtime(engines.crio)};
  for (const EngineGpus& engine : {docker, containerd, crio})
    if (engine.asked || engine.installed) all.push_back(engine);
  return all;
}

ContainerdHold containerd_hold(const EngineFiles& files) {
  // Version 2 is containerd's format since 1.3, and version 3 that of 2.0. An older one has no version.
  if (!files.blank && files.version != 2 && files.version != 3) return ContainerdHold::kVersion;
  if (!files.cri) return ContainerdHold::kCriOff;
  return files.overriding.empty() ? ContainerdHold::kNone : ContainerdHold::kOverridden;
}

const EngineRuntime* low_level_runtime(const EngineFiles& files) {
  for (const std::string_view name :
       {std::string_view(files.default_runtime), std::string_view("runc"), std::string_view("crun")}) {
    const auto found = std::ranges::find(files.runtimes, name, &EngineRuntime::name);
    if (found == files.runtimes.end() || is_nvidia_runtime(*found)) continue;
    const auto type = found->settings.find("runtime_type");
    // A runtime of virtual machines (kata) has another type.
    if (type == found->settings.end() || type->second == "\"\"" || type->second == "\"oci\"" ||
        type->second.starts_with("\"io.containerd.runc."))
      return &*found;
  }
  return nullptr;
}

std::vector<const CdiSpec*> used_cdi_specs(const std::vector<CdiSpec>& specs) {
  std::vector<const CdiSpec*> used;
  for (const CdiSpec& spec : specs)
    if (spec.file.starts_with("/run/")) used.push_back(&spec);
  if (used.empty())
    for (const CdiSpec& spec : specs) used.push_back(&spec);
  return used;
}

std::string cdi_fault(const CdiSpec& spec, const Gpus& gpus) {
  const std::string file = printable(spec.file);
  if (gpus.driver_version.ok() && !spec.driver_version.empty() && spec.driver_version != *gpus.driver_version)
    return fmt::format("{} is of driver {}, and {} is loaded", file, printable(spec.driver_version),
                       printable(*gpus.driver_version));
  if (!spec.gone.empty())
    return fmt::format("{} names {}, which is gone", file, printable(spec.gone.front()));
  if (const auto nodes = all_device_nodes(gpus))
    for (const int gpu : spec.gpus)
      if (!nodes->contains(gpu)) return fmt::format("{} names /dev/nvidia{}, which is not there", file, gpu);
  if (const auto uuids = all_uuids(gpus))
    for (const std::string& uuid : spec.uuids)
      if (!uuids->contains(lower(uuid)))
        return fmt::format("{} names {}, and no GPU here has this UUID", file, printable(uuid));
  return "";
}

std::string cdi_fault(const std::vector<CdiSpec>& specs, const Gpus& gpus) {
  const auto used = used_cdi_specs(specs);
  std::set<int> described;
  for (const CdiSpec* const spec : used) {
    if (std::string fault = cdi_fault(*spec, gpus); !fault.empty()) return fault;
    described.insert(spec->gpus.begin(), spec->gpus.end());
  }
  // A description for another kind of machine names no /dev/nvidiaN at all.
  const auto nodes = all_device_nodes(gpus);
  if (!nodes || described.empty()) return "";
  for (const int gpu : *nodes)
    if (!described.contains(gpu))
      return fmt::format("{} does not describe /dev/nvidia{}", printable(used.front()->file), gpu);
  return "";
}

bool has_memory_guard(const std::vector<std::string>& guards) {
  constexpr std::array<std::string_view, 2> kGuards = {"earlyoom", "nohang"};
  return std::ranges::any_of(
      guards, [&](const std::string& guard) { return std::ranges::find(kGuards, guard) != kGuards.end(); });
}

}  // namespace railbed
