// The view of this machine from inside a container. The image runs once, as a job with GPUs would, and
// reports the devices, libraries and limits that it has.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;

// The result of the start.
enum class ContainerStart {
  kStarted,
  kNoRuntime,  // neither docker nor podman is installed, or not the one that was named
  kNoDaemon,   // docker's daemon does not respond
  kDenied,     // this user may not open docker's socket
  kNoImage,    // the image is not present; railbed never pulls one
  // the runtime cannot hand out GPUs: no NVIDIA Container Toolkit, or not set up
  kNoGpuSupport,
  kGpuSetup,  // the toolkit failed to hand out the GPUs
  kMemlock,   // the runtime may not lift the limit of locked memory
  kNoShell,   // the image has no sh to run the script
  kBusy,      // the container of another run exists
  kFailed,    // anything else; see `said`
};
constexpr auto enum_names(ContainerStart) {
  return std::array<std::string_view, 11>{
      "started",          "no-runtime",      "no-daemon", "denied", "no-image", "no-gpu-support",
      "gpu-setup-failed", "memlock-refused", "no-shell",  "busy",   "failed"};
}

// The devices, libraries and limits that the container has.
struct ContainerSight {
  std::vector<int> gpus;                // /dev/nvidia[0-9]+
  bool libcuda = false;                 // libcuda.so.1 in the folders of libraries
  std::optional<int> listed;            // GPUs in `nvidia-smi -L`; nullopt without nvidia-smi
  std::string complaint;                // the first line of nvidia-smi that lists no GPU
  std::vector<std::string> rdma_nodes;  // in /dev/infiniband: uverbs0, rdma_cm
  std::uint64_t memlock = 0;            // bytes; kUnlimited (system.h) if unlimited
  FIELDS(ContainerSight, gpus, libcuda, listed, complaint, rdma_nodes, memlock);
  bool operator==(const ContainerSight&) const = default;
};

struct ContainerLook {
  std::string runtime;  // docker or podman; with kNoRuntime the requested one
  std::string image;
  ContainerStart start = ContainerStart::kFailed;
  std::string said;       // the runtime's error message if the container did not start
  ContainerSight inside;  // set if it started
  FIELDS(ContainerLook, runtime, image, start, said, inside);
};

// The image to start and how.
struct ContainerPlan {
  std::string image;
  std::string runtime;  // empty: docker, else podman, whichever is installed
  bool gpus = false;    // hand out all GPUs
  bool rdma = false;    // hand out /dev/infiniband
  std::chrono::seconds deadline{60};
};

// Runs the image once, without network and capabilities. Never pulls an image and removes the container
// afterwards. The reading is absent if the plan names no image, and unsupported if the image's name is not
// valid.
Reading<ContainerLook> look_into_container(Host& host, const ContainerPlan& plan);

// Parses the output of the script that runs in the container; untrusted text. Returns nullopt if a line is
// unknown, the limit of locked memory is missing, or the output is cut off.
std::optional<ContainerSight> parse_container_sight(std::string_view output);
// Returns the cause of a failed start from the stderr of docker or podman.
ContainerStart why_not_started(std::string_view said);

}  // namespace railbed
