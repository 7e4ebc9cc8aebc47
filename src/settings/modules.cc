// Kernel modules that RDMA needs here. rdma-core and NVIDIA's OFED load most of them by themselves; then
// there is nothing left to do.
#include <fmt/format.h>

#include <algorithm>

#include "hardware/gpudirect.h"
#include "hardware/nic.h"
#include "model/survey.h"
#include "settings/files.h"
#include "settings/network/software_link.h"
#include "settings/render.h"

namespace railbed {
namespace {

using ModuleNames = std::vector<std::string>;

void add_module(ModuleNames& names, std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

void add_adapter_modules(const Target& target, ModuleNames& names) {
  for (const PciDevice* const adapter : target.view.adapters()) {
    const NicModel* const model = find_nic(adapter->device.value_or(0));
    if (model == nullptr) continue;
    add_module(names, model->module);
    add_module(names, model->rdma_module);
  }
}

// Returns the modules of RDMA; they pull in ib_core and rdma_cm.
ModuleNames rdma_modules(const Target& target) {
  ModuleNames names;
  for (const RailEnd& end : target.view.ends) {
    if (!end.wants_rdma()) continue;
    if (end.software_rdma()) add_module(names, end.rail->rdma_driver == "rxe" ? "rdma_rxe" : "siw");
    if (end.model != nullptr) add_module(names, end.model->rdma_module);
  }
  // While no driver is loaded, an adapter has no interface, and no end of a rail is known to be on it.
  const bool lacks_interface = std::ranges::any_of(target.view.ends, [](const RailEnd& end) {
    return end.wants_rdma() && !end.software_rdma() && end.model == nullptr;
  });
  if (lacks_interface) add_adapter_modules(target, names);
  if (std::ranges::none_of(target.view.ends, &RailEnd::wants_rdma)) return names;
  add_module(names, "ib_uverbs");
  add_module(names, "rdma_ucm");
  for (const RailEnd& end : target.view.ends) {
    if (!end.infiniband()) continue;
    add_module(names, "ib_umad");
    if (end.address() != nullptr) add_module(names, "ib_ipoib");
  }
  return names;
}

// rdma-core starts rdma-load-modules@ by a udev rule when an adapter appears, and lists ib_uverbs, rdma_ucm,
// and for InfiniBand ib_umad and ib_ipoib in /etc/rdma/modules; its rdma-hw-modules.rules load mlx4_ib and
// mlx5_ib. openibd of NVIDIA's OFED does the same.
bool loads_at_boot(const Target& target, std::string_view module) {
  const bool software = module == "rdma_rxe" || module == "siw";
  return !software &&
         (is_loaded_unit(target.view, "rdma-load-modules@rdma") || is_loaded_unit(target.view, "openibd"));
}

Need module_loaded(const Target& target, const std::string& module) {
  Need need{.what = fmt::format("kernel module {} is loaded", module)};
  const Kernel& kernel = target.facts().system.kernel;
  if (!kernel.present_modules.ok() && !kernel.loaded_modules.ok()) return need;
  need.now = module_present(target.facts(), module);
  if (*need.now && loads_at_boot(target, module)) need.at_boot = true;
  if (!*need.now) need.found = "not loaded";
  return need;
}

// Adds a note for each module on a blacklist, which modules-load.d(5) obeys. Its author had a reason, so a
// person decides.
void tell_blocked(const Target& target, const ModuleNames& names, Setting& setting) {
  for (const BlockedModule& module : items(target.facts().system.kernel.blocked_modules))
    if (std::ranges::find(names, module.name) != names.end())
      setting.notes.push_back(fmt::format("{} keeps {} from being loaded ({}): take that line out.",
                                          module.file, module.name, module.how));
}

Setting modules_setting(const Target& target, std::string name, std::string title, std::string path,
                        const ModuleNames& names) {
  Setting setting{.section = Section::kModules, .name = std::move(name), .title = std::move(title)};
  DesiredFile file{.path = std::move(path), .content = std::string(kFileMark)};
  for (const std::string& name : names) {
    setting.needs.push_back(module_loaded(target, name));
    file.content += name + "\n";
  }
  setting.files.push_back(std::move(file));
  setting.steps = {{StepKind::kLoadModule, names}};
  tell_blocked(target, names, setting);
  return setting;
}

bool has_gpudirect_adapter(const Target& target) {
  return std::ranges::any_of(target.view.ends, [&](const RailEnd& end) {
    return end.wants_rdma() && end.model != nullptr && why_adapter_cannot(target.facts(), *end.model).empty();
  });
}

// Returns true if nvidia-peermem is this node's only route to GPU memory: the route is open already, or the
// decision table shows that the module opens it. With DMA-BUF it is not needed, and with both the program
// chooses.
bool needs_peermem(const Target& target) {
  const Facts& facts = target.facts();
  if (items(facts.gpus.devices).empty() || !has_gpudirect_adapter(target)) return false;
  const GpuDirectRoutes routes = gpudirect_routes(facts);
  if (routes.any()) return routes.peer_memory() && !routes.dma_buf();
  const PeerMemoryApi api = peer_memory_api(facts);
  return gpudirect_remedy(facts).possible && (api == PeerMemoryApi::kYes || api == PeerMemoryApi::kLoaded);
}

// A loaded module is not enough: it must have registered itself (gpudirect.h).
Need peermem_registered(const Target& target) {
  Need need{.what = "nvidia-peermem is registered with the RDMA core",
            .now = gpudirect_routes(target.facts()).peer_memory()};
  if (*need.now && is_enabled_unit(target.view, "nvidia-peermem")) need.at_boot = true;
  if (!*need.now) need.found = gpudirect_routes(target.facts()).no_peer_memory;
  return need;
}

// MLNX_OFED 4.9, the last release for ConnectX-3, uses an older form of the interface (nvidia-peermem.c,
// peerdirect_support).
bool is_legacy_ofed(const Target& target) {
  return std::ranges::any_of(target.view.ends, [](const RailEnd& end) {
    return end.model != nullptr && end.model->rdma_module == "mlx4_ib";
  });
}

void add_peermem(const Target& target, std::vector<Setting>& settings) {
  if (!needs_peermem(target)) return;
  Setting setting = modules_setting(target, "modules/peermem", "GPUDirect RDMA by nvidia-peermem",
                                    "/etc/modules-load.d/nvidia-peermem.conf", {"nvidia_peermem"});
  setting.reason =
      "adapters reach GPU memory only by this module here; without it NCCL copies through host memory";
  setting.needs = {peermem_registered(target)};
  if (is_legacy_ofed(target))
    setting.files.push_back(
        {.path = "/etc/modprobe.d/nvidia-peermem.conf",
         .content = std::string(kFileMark) + "options nvidia-peermem peerdirect_support=1\n"});
  settings.push_back(std::move(setting));
}

}  // namespace

void render_modules(const Target& target, std::vector<Setting>& settings) {
  const ModuleNames names = rdma_modules(target);
  if (names.empty()) return;
  Setting setting = modules_setting(target, "modules/rdma", "kernel modules of RDMA",
                                    "/etc/modules-load.d/railbed.conf", names);
  setting.reason = "programs reach RDMA devices through modules that the network alone does not load";
  settings.push_back(std::move(setting));
  add_peermem(target, settings);
  add_software_links(target, settings);
}

}  // namespace railbed
