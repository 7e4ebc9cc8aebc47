// The calls behind Host::call that use the NVIDIA driver's libraries: "nvml", "nvml list", "nvml p2p",
// "nvml activity", "nvml ADDRESS", "cuda ADDRESS" and "gpu-load SECONDS". Each runs in a child process and returns the JSON of a
// struct of gpu_answers.h. "nvml held-back" returns an object of objects: by PCI address, the nanoseconds since the driver
// was loaded in which a reason held the clocks back, by the words of hardware/gpu_slowdown.h; those that the driver counts.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"

namespace railbed {

// The candidate paths of the driver's libraries, and the time limit of one call.
struct NvidiaLibraries {
  std::vector<std::string> nvml;
  std::vector<std::string> cuda;
  std::chrono::milliseconds deadline;
};
const NvidiaLibraries& nvidia_libraries();
Reading<std::string> call_nvml(std::string_view name, const NvidiaLibraries& from = nvidia_libraries());
Reading<std::string> call_cuda(std::string_view name, const NvidiaLibraries& from = nvidia_libraries());
Reading<std::string> call_gpu_load(int seconds, const NvidiaLibraries& from = nvidia_libraries());

}  // namespace railbed
