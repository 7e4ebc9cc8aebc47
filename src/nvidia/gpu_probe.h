// Steps shared by the calls to the NVIDIA driver. All run in the child process.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "nvidia/gpu_answers.h"
#include "nvidia/nvml_library.h"

namespace railbed {

// Initializes NVML; returns the reason if NVML cannot be used.
std::optional<Miss> start_nvml(nvml::Nvml& nvml);
// Returns the GPU at a PCI address of sysfs. From then on, reported steps name this GPU.
Result<nvml::Device> find_gpu(nvml::Nvml& nvml, const std::string& address);

// Returns all GPUs of the node by their addresses of sysfs.
std::map<std::string, nvml::Device> nvml_gpus(nvml::Nvml& nvml);
// Takes two samples of all GPUs, a tenth of a second apart.
GpuActivities measure_activity(nvml::Nvml& nvml);

Reading<std::uint64_t> nvml_event_reasons(nvml::Nvml& nvml, nvml::Device device);
Reading<int> nvml_margin(nvml::Nvml& nvml, nvml::Device device);
Reading<int> nvml_memory_temperature(nvml::Nvml& nvml, nvml::Device device);
Reading<std::vector<NvmlProcess>> nvml_processes(nvml::Nvml& nvml, nvml::Device device);
Reading<NvmlLinks> nvml_links(nvml::Nvml& nvml, nvml::Device device);

}  // namespace railbed
