// Steps shared by the calls to the NVIDIA driver. All run in the child process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

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

// Counters of errors that never fall.
struct GpuCounters {
  Reading<std::uint32_t> replays;  // of PCI Express
  Reading<std::uint64_t> uncorrectable;
  Reading<std::uint64_t> corrected;
  std::map<std::string, std::uint64_t> nvlink;  // by the counter's name, summed over the links
};
GpuCounters read_gpu_counters(nvml::Nvml& nvml, nvml::Device device);

// Returns why a GPU must not be loaded: a user's process must not be disturbed. Empty if it may be.
std::string why_gpu_is_busy(nvml::Nvml& nvml, nvml::Device device);

// The Xids of one GPU that the driver reports from now on.
class XidWatch {
 public:
  XidWatch(nvml::Nvml& nvml, nvml::Device device);
  // Returns the Xids since the last call. Does not wait.
  std::vector<int> take();

 private:
  nvml::Nvml& nvml_;
  void* events_ = nullptr;  // nvmlEventSet_t; null if this driver reports none
};

}  // namespace railbed
