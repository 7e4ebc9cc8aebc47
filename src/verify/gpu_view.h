// Walks over GPUs: every GPU that the driver or PCI shows, every GPU that NVML reports on, every GPU that was
// under load.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "hardware/gpu_model.h"
#include "hardware/pci_link.h"
#include "hardware/spark.h"
#include "verify/walk.h"

namespace railbed {

// Returns true if the memory of this GPU and its processor are not connected by PCI Express: its link there carries no
// data.
inline bool uses_no_pcie(const NodeView& node, std::string_view address) {
  const PciDevice* device = find_pci(node.pci(), address);
  if (device != nullptr && is_spark_gpu(*device)) return true;
  const auto& gpus = items(node.facts->gpus.devices);
  for (std::size_t i = 0; i < gpus.size() && i < node.gpu_models.size(); ++i)
    if (const GpuModel* model = node.gpu_models[i]; gpus[i].pci_address == address && model != nullptr)
      return model->c2c || model->name == "GB10";
  return false;
}

// One GPU that NVML reports on, with its node. References stay valid as long as the Survey.
struct GpuView {
  const NodeView& node;
  const Gpu& gpu;
  const NvmlGpu& nvml;
  const GpuModel* model;  // null if not in the table

  const std::string& address() const { return gpu.pci_address; }
  bool without_pcie() const { return uses_no_pcie(node, gpu.pci_address); }
  std::string where() const { return fmt::format("GPU {} of {}", gpu.pci_address, *node.name); }
  // Return its link of PCI Express, and all of them up to its root port; empty if PCI does not show it.
  std::vector<RealLink> links() const {
    const PciDevice* device = find_pci(node.pci(), gpu.pci_address);
    return device == nullptr ? std::vector<RealLink>() : links_above(node.pci(), *device);
  }
  // Returns an nvidia-smi command that addresses this GPU.
  ShellCommand smi(const ShellCommand& what) const {
    return command("nvidia-smi -i {} {}", gpu.pci_address, what);
  }
};

inline std::string on_or_off(bool on) { return on ? "on" : "off"; }

// Returns true if the node's board is managed by nvlsm and the module that nvlsm needs is not there. NVIDIA's start script
// of the fabric manager checks for it on NVLink 5 (github.com/NVIDIA/gpu-operator/issues/2781).
inline bool lacks_nvlsm_module(const NodeView& node) {
  const Kernel& kernel = node.facts->system.kernel;
  const bool known = kernel.loaded_modules.ok() || kernel.present_modules.ok();
  return node.has_nvlink_manager() && known && !module_present(*node.facts, "ib_umad");
}

// The remedy for that. Starting the fabric manager alone does not help.
inline Remedy load_nvlsm_module() {
  return {
      .text =
          "Load ib_umad now and at every boot, then restart the fabric manager. Where the module is missing, it is in the "
          "kernel's package of extra modules.",
      .commands = {"modprobe ib_umad", "printf '%s\\n' ib_umad >> /etc/modules-load.d/nvlsm.conf",
                   "systemctl restart nvidia-fabricmanager"},
      .by_hand_only = true};
}

// Returns true if the driver's module on disk has the version that is loaded; nullopt if either is unknown.
inline std::optional<bool> module_on_disk_is_loaded(const NodeView& node) {
  const Gpus& gpus = node.facts->gpus;
  if (!gpus.module_file || gpus.module_file->version.empty() || !gpus.driver_version) return std::nullopt;
  return gpus.module_file->version == *gpus.driver_version;
}

// Returns the value, or null after ending the case: as not applicable if the GPU or the driver does not offer
// the value, as unknown if it could not be read.
template <class T>
const T* said(Case& verdict, const Reading<T>& reading) {
  const bool offered = reading.ok() || (!reading.absent() && reading.miss().missing != Missing::kUnsupported);
  if (offered) return verdict.read(reading);
  verdict.seen(reading);
  verdict.not_applicable("this GPU or its driver does not say: " + reading.miss().why);
  return nullptr;
}

// Calls look(Case&, const NodeView&, const Gpu&) for every GPU that the driver or PCI shows. A node without
// GPUs gets one case of its own, which is not applicable, or unknown if the GPUs could not be read.
template <class Look>
void each_gpu(const Survey& survey, Judge& judge, Look&& look) {
  for (const NodeView& node : survey.nodes) {
    const auto& devices = node.facts->gpus.devices;
    if (!devices || devices->empty()) {
      Case verdict = judge.on(node, "GPUs", node.gpu_touches);
      if (verdict.read(devices) != nullptr) verdict.not_applicable("no NVIDIA GPU on PCI");
      continue;
    }
    for (std::size_t i = 0; i < devices->size(); ++i) {
      const Gpu& gpu = (*devices)[i];
      Case verdict = judge.on(node, gpu.pci_address, node.touches_of_gpus[i]);
      look(verdict, node, gpu);
    }
  }
}

// Calls look(Case&, const GpuView&) for every GPU that NVML reports on. The others end as not applicable, or
// as unknown if NVML could not be read.
template <class Look>
void each_answering_gpu(const Survey& survey, Judge& judge, Look&& look) {
  each_gpu(survey, judge, [&](Case& verdict, const NodeView& node, const Gpu& gpu) {
    if (!gpu.nvml) {
      if (gpu.nvml.unknown() && verdict.read(gpu.nvml) == nullptr) return;
      verdict.seen(gpu.nvml);
      return verdict.not_applicable(gpu.nvml.absent() ? "NVML was not asked (gpu.nvml)"
                                                      : "NVML does not answer for it (gpu.answers)");
    }
    const auto index = static_cast<std::size_t>(&gpu - node.facts->gpus.devices->data());
    look(verdict, GpuView{node, gpu, *gpu.nvml, node.gpu_models[index]});
  });
}

// Calls look(Case&, const GpuView&, const GpuLoad&) for every GPU that was under load, with its record. The
// others end as not applicable.
template <class Look>
void each_loaded_gpu(const Survey& survey, Judge& judge, Look&& look) {
  each_answering_gpu(survey, judge, [&](Case& verdict, const GpuView& gpu) {
    const auto& load = gpu.node.facts->load;
    if (!load || !load->gpus) return verdict.not_applicable("needs --load");
    verdict.add_evidence(load->gpus.from());
    const auto found = load->gpus->find(gpu.address());
    if (found == load->gpus->end() || !found->second.error.empty() || found->second.seconds <= 0)
      return verdict.not_applicable("it was not under load (gpu.load)");
    look(verdict, gpu, found->second);
  });
}

}  // namespace railbed
