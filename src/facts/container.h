// What a container sees of this machine: an image, started once as a job with GPUs is, says what it has.
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

// What became of the start.
enum class ContainerStart {
  kStarted,
  kNoRuntime,     // neither docker nor podman is installed, or not the one that was named
  kNoDaemon,      // docker's daemon does not answer
  kDenied,        // docker's socket is closed to this user
  kNoImage,       // the image is not there; none is ever pulled
  kNoGpuSupport,  // the runtime does not know how to hand out GPUs: no NVIDIA Container Toolkit, or not set
                  // up
  kGpuSetup,      // the toolkit failed to hand them out
  kMemlock,       // the runtime may not lift the limit of locked memory
  kNoShell,       // the image has no sh that could say what it sees
  kBusy,          // the container of another look is there
  kFailed,        // anything else; `said` has its words
};
constexpr auto enum_names(ContainerStart) {
  return std::array<std::string_view, 11>{
      "started",          "no-runtime",      "no-daemon", "denied", "no-image", "no-gpu-support",
      "gpu-setup-failed", "memlock-refused", "no-shell",  "busy",   "failed"};
}

struct ContainerSight {
  std::vector<int> gpus;                // /dev/nvidia[0-9]+
  bool libcuda = false;                 // libcuda.so.1 in the folders of libraries
  std::optional<int> listed;            // GPUs of `nvidia-smi -L`; none: there is no nvidia-smi
  std::string complaint;                // the first line that nvidia-smi said instead
  std::vector<std::string> rdma_nodes;  // of /dev/infiniband: uverbs0, rdma_cm
  std::uint64_t memlock = 0;            // bytes; kUnlimited (system.h)
  FIELDS(ContainerSight, gpus, libcuda, listed, complaint, rdma_nodes, memlock);
  bool operator==(const ContainerSight&) const = default;
};

struct ContainerLook {
  std::string runtime;  // docker or podman; with kNoRuntime the one that was named
  std::string image;
  ContainerStart start = ContainerStart::kFailed;
  std::string said;       // the runtime's words where it did not start
  ContainerSight inside;  // where it started
  FIELDS(ContainerLook, runtime, image, start, said, inside);
};

struct ContainerPlan {
  std::string image;
  std::string runtime;  // empty: the first of docker and podman that is installed
  bool gpus = false;    // hand out all GPUs
  bool rdma = false;    // hand out /dev/infiniband
  std::chrono::seconds deadline{60};
};

// Runs the image once, without network and capabilities, never pulls it, and leaves nothing behind. Absent
// where no image is named; unsupported where it is no image's name.
Reading<ContainerLook> look_into_container(Host& host, const ContainerPlan& plan);

// What the look printed in the container; text from elsewhere.
std::optional<ContainerSight> parse_container_sight(std::string_view output);
// What docker and podman say on stderr.
ContainerStart why_not_started(std::string_view said);

}  // namespace railbed
