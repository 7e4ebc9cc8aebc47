// Which job uses which GPU: the processes that hold it, by Slurm's job, by pod and by user. It is collected by a monitor,
// and is not part of a node's facts.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "nvidia/gpu_answers.h"

namespace railbed {

class Host;

// The processes on one GPU that belong together. Texts are clean and at most kLongestJobText bytes; what is not known is
// empty.
struct GpuJob {
  std::string hpc_job = {};     // Slurm's job
  std::string user = {};        // the account's name, else its number
  std::string pod = {};         // its name; the pod's identifier if the node does not tell the name
  std::string name_space = {};  // of the pod
  std::string container =
      {};  // its name in the pod; of a container without a pod, 12 digits of its identifier
  int processes = 0;
  int ranks = 0;  // of the whole job, as its launcher says; 0 if unknown
  FIELDS(GpuJob, hpc_job, user, pod, name_space, container, processes, ranks);
  bool operator==(const GpuJob&) const = default;
};
inline constexpr std::size_t kLongestJobText = 253;  // a pod's name: RFC 1123
inline constexpr std::size_t kMostJobsOfGpu = 16;    // those with the most processes are kept

// By PCI address, the GPUs that processes hold.
using GpuJobs = std::map<std::string, std::vector<GpuJob>>;

// Names of users that were looked up, because a directory service may take long. A service that did not answer is not
// asked again for ten minutes.
struct KnownUsers {
  std::map<int, std::string> names = {};
  std::chrono::steady_clock::time_point silent_until = {};
};

// Reads to which job the processes on each GPU belong. A process that ended meanwhile is left out.
GpuJobs collect_gpu_jobs(Host& host, const std::map<std::string, std::vector<NvmlProcess>>& processes,
                         KnownUsers& users);
// The same for the processes that NVML's readings list; GPUs that NVML could not read are left out.
GpuJobs collect_gpu_jobs(Host& host, const std::map<std::string, Reading<NvmlGpu>>& readings,
                         KnownUsers& users);

// One container as the kubelet names its log below /var/log/containers: "POD_NAMESPACE_CONTAINER-IDENTIFIER.log".
struct ContainerLog {
  std::string pod;
  std::string name_space;
  std::string container;
  std::string id;  // 64 hexadecimal digits
};
// Parses such a name; nullopt if it is none. Kubernetes' names hold no "_".
std::optional<ContainerLog> parse_container_log(std::string_view name);

}  // namespace railbed
