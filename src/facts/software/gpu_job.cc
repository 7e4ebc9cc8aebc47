#include "facts/software/gpu_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "host/host.h"
#include "host/process_answer.h"

namespace railbed {
namespace {

constexpr std::size_t kMostKnownUsers = 1000;
constexpr std::chrono::minutes kSilence{10};
constexpr std::size_t kShortId = 12;
constexpr std::size_t kIdDigits = 64;

std::string clean(std::string_view text) { return printable(text.substr(0, kLongestJobText)); }

bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// Returns true for the characters of a name of a pod, a namespace or a container: RFC 1123.
bool is_kubernetes_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestJobText && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '.';
  });
}

// The names that the kubelet gives to the logs of this node's containers. It makes them readable to everybody, or to
// root alone.
class ContainerLogs {
 public:
  explicit ContainerLogs(Host& host) {
    for (const std::string& name : host.list("/var/log/containers").value_or({}))
      if (auto log = parse_container_log(name)) by_id_.emplace(log->id, std::move(*log));
    for (const std::string& name : host.list("/var/log/pods").value_or({})) {
      const auto pieces = split(name, '_');
      if (pieces.size() == 3 && is_kubernetes_name(pieces[0]) && is_kubernetes_name(pieces[1]))
        pods_.emplace(pieces[2], std::pair(std::string(pieces[0]), std::string(pieces[1])));
    }
  }

  void name(const ProcessJob& process, GpuJob& job) const {
    if (const auto log = by_id_.find(process.container); log != by_id_.end()) {
      job.pod = log->second.pod;
      job.name_space = log->second.name_space;
      job.container = log->second.container;
    } else if (const auto pod = pods_.find(process.pod_uid); pod != pods_.end()) {
      std::tie(job.name_space, job.pod) = pod->second;
    } else {
      job.pod = clean(process.pod_uid);
    }
  }

 private:
  std::map<std::string, ContainerLog> by_id_;
  std::map<std::string, std::pair<std::string, std::string>> pods_;  // by identifier: namespace, name
};

// Looks up those users whose names are not known yet.
void look_up(Host& host, const std::set<int>& users, KnownUsers& known) {
  if (known.names.size() > kMostKnownUsers) known.names.clear();
  std::vector<int> asked;
  for (const int user : users)
    if (!known.names.contains(user) && asked.size() < kMostJobPids) asked.push_back(user);
  const auto now = std::chrono::steady_clock::now();
  if (asked.empty() || now < known.silent_until) return;
  const auto answer = host.call(fmt::format("user-names {}", fmt::join(asked, ",")));
  const auto names = answer ? json::read<UserNames>(*answer) : Result<UserNames>(UserNames());
  if (!answer || !names) {
    known.silent_until = now + kSilence;
    return;
  }
  for (const int user : asked) {
    const auto name = names->find(std::to_string(user));
    known.names.emplace(user, name == names->end() ? std::to_string(user) : clean(name->second));
  }
}

std::map<int, ProcessJob> jobs_by_pid(Host& host,
                                      const std::map<std::string, std::vector<NvmlProcess>>& processes) {
  std::set<std::uint32_t> pids;
  for (const auto& [gpu, list] : processes)
    for (const NvmlProcess& process : list)
      if (process.pid > 0 && process.pid <= INT32_MAX && pids.size() < kMostJobPids) pids.insert(process.pid);
  std::map<int, ProcessJob> found;
  if (pids.empty()) return found;
  const auto answer = host.call(fmt::format("jobs {}", fmt::join(pids, ",")));
  if (!answer) return found;
  if (auto jobs = json::read<std::vector<ProcessJob>>(*answer))
    for (ProcessJob& job : *jobs) found.emplace(job.pid, std::move(job));
  return found;
}

}  // namespace

std::optional<ContainerLog> parse_container_log(std::string_view name) {
  constexpr std::string_view kEnd = ".log";
  if (!name.ends_with(kEnd)) return std::nullopt;
  name.remove_suffix(kEnd.size());
  const auto dash = name.rfind('-');
  const auto pieces = split(name.substr(0, dash), '_');
  if (dash == std::string_view::npos || pieces.size() != 3) return std::nullopt;
  const std::string_view id = name.substr(dash + 1);
  const bool named = std::ranges::all_of(pieces, is_kubernetes_name);
  if (!named || id.size() != kIdDigits || !std::ranges::all_of(id, is_hex_digit)) return std::nullopt;
  return ContainerLog{std::string(pieces[0]), std::string(pieces[1]), std::string(pieces[2]),
                      std::string(id)};
}

GpuJobs collect_gpu_jobs(Host& host, const std::map<std::string, std::vector<NvmlProcess>>& processes,
                         KnownUsers& users) {
  const auto by_pid = jobs_by_pid(host, processes);
  std::set<int> seen;
  bool has_pods = false;
  for (const auto& [pid, process] : by_pid) {
    seen.insert(process.user);
    has_pods |= !process.pod_uid.empty();
  }
  look_up(host, seen, users);
  const std::optional<ContainerLogs> logs =
      has_pods ? std::optional<ContainerLogs>(std::in_place, host) : std::nullopt;
  const auto job_of = [&](const ProcessJob& process) {
    GpuJob job;
    job.hpc_job = clean(process.slurm_job);
    const auto name = users.names.find(process.user);
    job.user = name == users.names.end() ? std::to_string(process.user) : name->second;
    if (!process.pod_uid.empty())
      logs->name(process, job);
    else
      job.container = clean(std::string_view(process.container).substr(0, kShortId));
    return job;
  };
  GpuJobs found;
  for (const auto& [gpu, list] : processes) {
    std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, GpuJob> jobs;
    for (const NvmlProcess& holder : list) {
      const auto process = by_pid.find(static_cast<int>(holder.pid));
      if (process == by_pid.end()) continue;
      GpuJob job = job_of(process->second);
      GpuJob& known = jobs.try_emplace({job.hpc_job, job.user, job.name_space, job.pod, job.container}, job)
                          .first->second;
      ++known.processes;
      known.ranks = std::max(known.ranks, process->second.ranks);
    }
    std::vector<GpuJob> of_gpu;
    for (auto& [key, job] : jobs) of_gpu.push_back(std::move(job));
    std::ranges::stable_sort(of_gpu, std::ranges::greater(), &GpuJob::processes);
    if (of_gpu.size() > kMostJobsOfGpu) of_gpu.resize(kMostJobsOfGpu);
    if (!of_gpu.empty()) found.emplace(gpu, std::move(of_gpu));
  }
  return found;
}

GpuJobs collect_gpu_jobs(Host& host, const std::map<std::string, Reading<NvmlGpu>>& readings,
                         KnownUsers& users) {
  std::map<std::string, std::vector<NvmlProcess>> processes;
  for (const auto& [address, gpu] : readings)
    if (gpu.ok() && gpu->processes.ok() && !gpu->processes->empty())
      processes.emplace(address, *gpu->processes);
  return collect_gpu_jobs(host, processes, users);
}

}  // namespace railbed
