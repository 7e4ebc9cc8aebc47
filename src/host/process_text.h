// Parsers for files of /proc/PID: pure functions of text, which may be of any process and any length.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "host/process_answer.h"

namespace railbed {

// environ: NAME=value, each ended by a zero byte. Returns the value of the first variable `name`; nullopt if
// there is none, or if its value holds a control character or is longer than kLongestPath.
std::optional<std::string> variable_of(std::string_view environ, std::string_view name);
std::map<std::string, std::string> kept_variables(std::string_view environ);

// limits: "Max locked memory  65536  65536  bytes". Returns the soft limit; UINT64_MAX if unlimited.
std::optional<std::uint64_t> soft_limit(std::string_view limits, std::string_view name);

// stat: "PID (NAME) S PARENT …", where NAME may hold anything.
struct StatLine {
  int parent = 0;
  std::uint64_t started = 0;  // field 22
};
std::optional<StatLine> parse_stat(std::string_view stat);

// status: "CapEff:\t000001ffffffffff"
struct StatusLines {
  int user = 0;
  std::set<int> groups;  // its effective group and the supplementary groups
  std::uint64_t capabilities = 0;
  bool has(int capability) const { return ((capabilities >> capability) & 1) != 0; }
};
std::optional<StatusLines> parse_status(std::string_view status);

// cgroup: "0::/system.slice/docker-<64 hexadecimal digits>.scope"
struct ContainerName {
  std::string id;
  std::string runtime;
};
ContainerName container_of(std::string_view cgroup);

// cgroup: the job of a scheduler whose cgroup the process is in. Folders that users may make themselves, those below
// user.slice, do not count.
//   Slurm, v2:  "0::/system.slice/slurmstepd.scope/job_417/step_0/user/task_0"
//   Slurm, v1:  "12:devices:/slurm/uid_1000/job_417/step_batch/task_0"
//   Kubernetes: "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice/cri-containerd-<id>.scope",
//               "12:devices:/kubepods/besteffort/pod<uid>/<id>"
struct CgroupJob {
  std::string slurm_job;  // digits; empty if none
  std::string pod_uid;    // 8-4-4-4-12 hexadecimal digits, or 32 of a static pod; empty if none
};
CgroupJob job_of(std::string_view cgroup);
// Returns whether the text is a Slurm job's identifier: 1 to 10 digits.
bool is_slurm_job(std::string_view text);

// maps: the libraries that show how a job communicates, each once; at most kMostLibraries.
struct MappedFile {
  MappedLibrary library;
  std::string address;  // of its first mapping
};
std::vector<MappedFile> mapped_libraries(std::string_view maps);
inline constexpr std::size_t kMostLibraries = 64;

// etc/hosts: returns the addresses of the lines with this name.
std::vector<std::string> addresses_of(std::string_view hosts, std::string_view name);
// Returns the lines that mention a variable of NCCL; all others become empty lines, so that line numbers
// stay.
std::string nccl_lines(std::string_view conf);

struct NetFiles {
  std::string dev, route, fib_trie, if_inet6;
};
// Returns the interfaces with their addresses, from net/dev, net/route, net/fib_trie and net/if_inet6.
std::vector<SeenInterface> interfaces_of(const NetFiles& files);
// Returns the established connections in net/tcp and net/tcp6 whose socket is one of `inodes`.
std::vector<TcpFlow> flows_of(std::string_view tcp, const std::set<std::uint64_t>& inodes);
inline constexpr std::size_t kMostFlows = 256;
// Sets the interface of each flow: the one that has the flow's local address.
void name_interfaces(std::vector<TcpFlow>& flows, const std::vector<SeenInterface>& interfaces);

struct NcclText {
  std::string version;
  std::string built_for;
};
// Finds the text "NCCL version 2.28.9+cuda13.0" in the library's read-only data. Reads at most 64 MiB of the
// file, which may be any user's. Empty if not found.
NcclText nccl_text_in(int file);

}  // namespace railbed
