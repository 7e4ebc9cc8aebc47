// The properties of a running process, as JSON in a capture and as facts (facts/software/process.h). proc_pid(5) and
// its related pages document what each file holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "base/reading.h"

namespace railbed {

// "processes nccl": an array of the processes that have a libnccl mapped. "processes ID": of those in the
// container whose identifier begins with ID, 12 to 64 hexadecimal digits. Users see their own processes; root
// sees all.
struct ProcessBrief {
  int pid = 0;
  int parent = 0;
  std::string name;          // comm: the program's own name for itself
  std::string container;     // 64 hexadecimal digits, from the cgroup's path; empty if none
  std::string nccl;          // path of the mapped libnccl; empty if none
  std::string nccl_at = {};  // start address of its mapping: the same in a forked child
  FIELDS(ProcessBrief, pid, parent, name, container, nccl, nccl_at);
};
struct ProcessList {
  std::vector<ProcessBrief> found;
  int not_allowed = 0;  // processes whose mapped files this user may not see
  int too_many = 0;     // processes beyond kMostProcesses
  FIELDS(ProcessList, found, not_allowed, too_many);
};
inline constexpr std::size_t kMostProcesses = 512;  // in a list
inline constexpr std::size_t kMostSockets = 4096;   // in a flow
inline constexpr std::size_t kLongestPath = 4096;

struct DeviceNode {
  std::string name;     // uverbs0
  bool usable = false;  // the process may read and write it, by owner, group and mode
  FIELDS(DeviceNode, name, usable);
  bool operator==(const DeviceNode&) const = default;
};

struct MappedLibrary {
  std::string name;     // libnccl, libcudart, libcuda, libtorch_cpu, libgloo, libibverbs, libucp, libnccl-net
  std::string path;     // as the process sees it
  std::string version;  // of libnccl from its text, else from the file's name; empty if unknown
  std::string built_for = {};  // "cuda12.9", of libnccl's text
  FIELDS(MappedLibrary, name, path, version, built_for);
  bool operator==(const MappedLibrary&) const = default;
};

// Connections of one pair of addresses.
struct TcpFlow {
  std::string local;      // 10.0.0.1
  std::string remote;     // 10.0.0.2
  std::string interface;  // that carries it, by name in the process's network namespace; empty if unknown
  int connections = 0;
  std::vector<std::uint64_t> sockets = {};  // their inodes, at most kMostSockets
  FIELDS(TcpFlow, sockets, local, remote, interface, connections);
  bool operator==(const TcpFlow&) const = default;
};

struct SeenInterface {
  std::string name;
  std::vector<std::string> addresses;  // "10.0.0.1/24"
  FIELDS(SeenInterface, name, addresses);
  bool operator==(const SeenInterface&) const = default;
};

// "process PID". P = /proc/PID, R = P/root
struct ProcessAnswer {
  int pid = 0;
  int parent = 0;
  std::uint64_t started = 0;  // clock ticks after boot: distinguishes processes that had the same pid
  std::string name;           // P/comm
  int user = 0;
  std::string container;  // as in ProcessBrief
  std::string runtime;    // docker, podman, kubernetes, lxc; empty if unknown or not in a container
  // The variables at the start of the program; later changes are not included. Only those of P/environ for
  // which is_kept_variable() holds, without long values and values with control characters.
  Reading<std::map<std::string, std::string>> environment;
  Reading<std::uint64_t> locked_memory;  // bytes, soft limit; UINT64_MAX: unlimited. P/limits
  Reading<std::uint64_t> file_limit;     // soft limit
  Reading<int> files;                    // open ones, P/fd
  Reading<bool> may_lock_memory;         // CAP_IPC_LOCK is effective in the first user namespace. P/status
  std::map<std::string, Reading<bool>> shares;     // "net", "mnt", "user": same namespace as railbed. P/ns
  Reading<std::vector<DeviceNode>> rdma_nodes;     // R/dev/infiniband; absent if there is no such folder
  Reading<std::vector<DeviceNode>> gpu_nodes;      // R/dev/nvidia0 …
  Reading<std::uint64_t> shared_memory;            // size of R/dev/shm in bytes
  Reading<std::vector<MappedLibrary>> libraries;   // P/maps
  Reading<std::vector<std::string>> open_devices;  // /dev/nvidia0, /dev/infiniband/uverbs0. P/fd
  Reading<std::vector<TcpFlow>> flows;             // established ones. P/fd, P/net/tcp, P/net/tcp6
  Reading<std::vector<SeenInterface>> interfaces;  // P/net/dev, fib_trie, route, if_inet6
  Reading<std::string> hostname;                   // R/etc/hostname, else HOSTNAME of P/environ
  Reading<std::vector<std::string>> hostname_addresses;  // of that name in R/etc/hosts
  // Files that are parsed line by line after transit, so their line breaks are kept.
  Reading<json::Lines> system_conf;  // R/etc/nccl.conf: lines with NCCL_
  Reading<json::Lines> user_conf;    // $NCCL_CONF_FILE or ~/.nccl.conf, same lines
  FIELDS(ProcessAnswer, pid, parent, started, name, user, container, runtime, environment, locked_memory,
         file_limit, files, may_lock_memory, shares, rdma_nodes, gpu_nodes, shared_memory, libraries,
         open_devices, flows, interfaces, hostname, hostname_addresses, system_conf, user_conf);
};

// "jobs PID,PID,…": an array of the processes that are there, kMostJobPids at most.
struct ProcessJob {
  int pid = 0;
  int user = 0;
  std::string slurm_job;  // P/cgroup, else SLURM_JOB_ID of P/environ; digits, empty if none
  std::string pod_uid;    // P/cgroup; empty if none
  std::string container;  // as in ProcessBrief
  int ranks = 0;          // WORLD_SIZE, else the like of mpirun or Slurm, of P/environ; 0 if unknown
  FIELDS(ProcessJob, pid, user, slurm_job, pod_uid, container, ranks);
};
inline constexpr std::size_t kMostJobPids = 512;

// "user-names UID,UID,…": the names that the system's accounts have, by number: getpwuid_r(3). Users without an account
// are left out.
using UserNames = std::map<std::string, std::string>;

// Returns whether a variable is kept: those of NCCL, UCX, Gloo and of launchers that start ranks.
bool is_kept_variable(std::string_view name);

Reading<std::string> call_processes(std::string_view which);
Reading<std::string> call_process(int pid);
Reading<std::string> call_jobs(std::string_view pids);
Reading<std::string> call_user_names(std::string_view users);

}  // namespace railbed
