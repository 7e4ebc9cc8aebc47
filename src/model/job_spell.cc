#include "model/job_spell.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "facts/facts.h"
#include "facts/network/counts.h"
#include "hardware/gpu_model.h"

namespace railbed {
namespace {

using TrafficCount = std::map<std::string, std::optional<std::uint64_t>>;

template <class T>
std::optional<T> known_value(const Reading<T>& reading) {
  return reading.ok() ? std::optional<T>(*reading) : std::nullopt;
}

// Returns the bytes that a port's counter has, wherever its driver has it; nullopt if it has none. A counter of 32 bits that
// has reached its end stands still (InfiniBand's PortCounters), and is none.
std::optional<std::uint64_t> bytes_in(const RdmaPort& port, const std::string& name) {
  const std::uint64_t full = std::numeric_limits<std::uint32_t>::max() * port_counter_unit(name);
  for (const auto* counters : {&port.counters, &port.hw_counters})
    if (const auto bytes = port_bytes(*counters, name); bytes && *bytes != full) return bytes;
  return std::nullopt;
}

std::optional<std::uint64_t> sum_of(std::optional<std::uint64_t> one, std::optional<std::uint64_t> other) {
  return one && other ? std::optional(*one + *other) : std::nullopt;
}

// Returns the bytes of a port, received and sent; bnxt_re, irdma and EFA have no port_*_data.
std::optional<std::uint64_t> traffic_of(const RdmaPort& port) {
  if (const auto all = sum_of(bytes_in(port, "port_rcv_data"), bytes_in(port, "port_xmit_data"))) return all;
  return sum_of(bytes_in(port, "rx_bytes"), bytes_in(port, "tx_bytes"));
}

TrafficCount traffic_of(const Facts& facts, const Counts& counts) {
  TrafficCount traffic;
  if (!facts.rdma.devices.ok()) traffic["RDMA devices"] = std::nullopt;
  if (!facts.net.interfaces.ok()) traffic["interfaces"] = std::nullopt;
  for (const RdmaDevice& device : items(facts.rdma.devices)) {
    const bool counts_itself = device.pci_address.ok() && !device.management.value_or(false);
    if (!counts_itself) continue;
    for (const PortCounts& port : counts.ports)
      if (port.device == device.name && port.port.state.value_or("ACTIVE") == "ACTIVE")
        traffic[fmt::format("{}/{}", device.name, port.port.number)] = traffic_of(port.port);
  }
  for (const NetInterface& interface : items(facts.net.interfaces)) {
    if (!interface.pci_address.ok()) continue;
    const auto found = std::ranges::find_if(
        counts.interfaces, [&](const InterfaceCounts& one) { return one.link.name == interface.name; });
    if (found == counts.interfaces.end() || !found->link.carrier.value_or(false)) continue;
    const auto bytes = [&](const char* name) {
      const auto value = found->statistics.find(name);
      return value == found->statistics.end() ? std::nullopt : std::optional(value->second);
    };
    traffic[interface.name] = sum_of(bytes("rx_bytes"), bytes("tx_bytes"));
  }
  return traffic;
}

// Returns what shows that kernels do more than wait: tensor cores, memory or NVLink in use. Kernels of NCCL that wait read
// words of their own memory.
std::string moves_of(const GpuActivity& activity) {
  constexpr double kShare = 0.01;
  if (activity.tensor.value_or(0) > kShare) return "tensor cores";
  if (activity.memory.value_or(0) > kShare) return "memory";
  const double nvlink = activity.nvlink_sent.value_or(0) + activity.nvlink_received.value_or(0);
  return nvlink > kQuietBytesASecond ? "NVLink" : "";
}

using JobKey = std::tuple<std::string, std::string, std::string, std::string, std::string>;

JobKey key_of(const GpuJob& job) {
  if (!job.hpc_job.empty()) return {job.hpc_job, "", "", "", ""};
  return {"", job.user, job.name_space, job.pod, job.container};
}

enum class Role { kSpins, kRests, kWorks, kUnknown };

struct Seen {
  Role role = Role::kUnknown;
  std::string why = {};  // it works
};

Seen role_of(const std::string& address, const GpuWork& gpu) {
  if (!gpu.utilisation || !gpu.power || !gpu.power_limit || *gpu.power_limit <= 0) return {};
  const double bar = watts_without_work(*gpu.power_limit);
  if (*gpu.power > bar) return {Role::kWorks, fmt::format("GPU {} draws {:.0f} W", address, *gpu.power)};
  if (!gpu.moves.empty()) return {Role::kWorks, fmt::format("{} of GPU {} is in use", gpu.moves, address)};
  if (*gpu.utilisation <= kRestPercent) return {Role::kRests};
  if (*gpu.utilisation < kSpinPercent)
    return {Role::kWorks, fmt::format("GPU {} is used for {} % of the time", address, *gpu.utilisation)};
  if (!gpu.memory_utilisation) return {};
  if (*gpu.memory_utilisation > kRestPercent)
    return {Role::kWorks, fmt::format("the memory of GPU {} is used for {} % of the time", address,
                                      *gpu.memory_utilisation)};
  return {Role::kSpins};
}

// The GPUs of one job in a sample.
struct JobGpus {
  GpuJob job;
  std::vector<std::pair<std::string, const GpuWork*>> gpus = {};
};

std::vector<JobGpus> jobs_of(const WorkSample& sample) {
  std::map<JobKey, JobGpus> jobs;
  for (const auto& [address, gpu] : sample.gpus) {
    if (gpu.mig || gpu.jobs.size() != 1) continue;
    const GpuJob& job = gpu.jobs.front();
    const auto [place, is_new] = jobs.try_emplace(key_of(job), JobGpus{job});
    if (!is_new) {
      place->second.job.processes += job.processes;
      place->second.job.ranks = std::max(place->second.job.ranks, job.ranks);
    }
    place->second.gpus.emplace_back(address, &gpu);
  }
  // What runs on a part of a shared GPU cannot be told from its neighbours.
  for (const auto& [address, gpu] : sample.gpus)
    if (gpu.mig || gpu.jobs.size() != 1)
      for (const GpuJob& job : gpu.jobs) jobs.erase(key_of(job));
  std::vector<JobGpus> found;
  for (auto& [key, one] : jobs)
    if (one.gpus.size() > 1 || one.job.ranks > 1) found.push_back(std::move(one));
  return found;
}

// The traffic between two samples.
struct Flow {
  double bytes_a_second = 0;
  std::string unread = {};
};

Flow flow_of(const TrafficCount& before, const TrafficCount& now, double seconds) {
  Flow flow;
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : now) {
    const auto old = before.find(name);
    if (!value || old == before.end() || !old->second || *old->second > *value) {
      if (flow.unread.empty()) flow.unread = name;
      continue;
    }
    bytes += *value - *old->second;
  }
  for (const auto& [name, value] : before)
    if (!now.contains(name) && flow.unread.empty()) flow.unread = name;
  flow.bytes_a_second = static_cast<double>(bytes) / seconds;
  return flow;
}

// Returns the spell of a job by this sample alone: its first reading, or why it works.
JobSpell first_of(const JobGpus& job, double when) {
  JobSpell spell{.job = job.job, .since = when, .until = when};
  bool spins = false;
  for (const auto& [address, gpu] : job.gpus) {
    const Seen seen = role_of(address, *gpu);
    if (seen.role == Role::kWorks) spell.works = seen.why;
    if (seen.role == Role::kUnknown && spell.works.empty())
      spell.works = fmt::format("NVML does not say what GPU {} does", address);
    if (seen.role == Role::kWorks || seen.role == Role::kUnknown) continue;
    spins |= seen.role == Role::kSpins;
    spell.gpus.push_back({.address = address,
                          .spins = seen.role == Role::kSpins,
                          .watts = *gpu->power,
                          .bar = watts_without_work(*gpu->power_limit),
                          .energy = gpu->energy});
  }
  if (spell.works.empty() && !spins) spell.works = "no kernel runs";
  if (!spell.works.empty()) {
    spell.gpus.clear();
    return spell;
  }
  spell.readings = 1;
  return spell;
}

bool same_roles(const JobSpell& one, const JobSpell& other) {
  return std::ranges::equal(one.gpus, other.gpus, [](const SpellGpu& a, const SpellGpu& b) {
    return a.address == b.address && a.spins == b.spins;
  });
}

// Returns the mean power between two readings: by the energy that the GPU counted, else the later reading's.
double mean_watts(const SpellGpu& before, const SpellGpu& now, double seconds) {
  constexpr double kMillijoules = 1000;
  if (!before.energy || !now.energy || *now.energy < *before.energy) return now.watts;
  return static_cast<double>(*now.energy - *before.energy) / kMillijoules / seconds;
}

// Lets the new spell go on from the old one, unless the job did something between the two readings.
void go_on(const JobSpell& before, const Flow& flow, double seconds, JobSpell& now) {
  if (before.readings == 0 || now.readings == 0 || !same_roles(before, now)) return;
  if (flow.bytes_a_second > kQuietBytesASecond) return;
  if (!before.unread.empty() && flow.unread.empty()) return;
  std::vector<SpellGpu> gpus = now.gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const double mean = mean_watts(before.gpus[i], gpus[i], seconds);
    if (mean > gpus[i].bar) return;
    gpus[i].watts = std::max(before.gpus[i].watts, mean);
  }
  now.gpus = std::move(gpus);
  now.since = before.since;
  constexpr int kMost = 1'000'000;  // a state that was read back may hold any number
  now.readings = std::min(before.readings, kMost) + 1;
  now.traffic = std::max(before.traffic, flow.bytes_a_second);
  now.unread = flow.unread;
}

}  // namespace

WorkSample work_sample(double when, const std::map<std::string, Reading<NvmlGpu>>& gpus, const GpuJobs& jobs,
                       const Facts& facts, const Counts& counts, const GpuActivities& activity) {
  WorkSample sample{.when = when};
  for (const auto& [address, its_jobs] : jobs) {
    const auto gpu = gpus.find(address);
    if (gpu == gpus.end() || !gpu->second.ok()) continue;
    const NvmlGpu& nvml = *gpu->second;
    const auto active = activity.find(address);
    sample.gpus.emplace(address, GpuWork{.utilisation = known_value(nvml.utilisation),
                                         .memory_utilisation = known_value(nvml.memory_utilisation),
                                         .power = known_value(nvml.power),
                                         .power_limit = known_value(nvml.power_limit_default),
                                         .energy = known_value(nvml.energy),
                                         .mig = nvml.mig.value_or(false),
                                         .moves = active == activity.end() ? "" : moves_of(active->second),
                                         .jobs = its_jobs});
  }
  sample.traffic = traffic_of(facts, counts);
  return sample;
}

JobSpells next_spells(const JobSpells& before, const WorkSample& sample) {
  JobSpells now{.when = sample.when, .traffic = sample.traffic};
  const double seconds = sample.when - before.when;
  const bool goes_on = seconds > 0 && seconds <= kLongestGap;
  const Flow flow = goes_on ? flow_of(before.traffic, sample.traffic, seconds) : Flow();
  for (const JobGpus& job : jobs_of(sample)) {
    JobSpell spell = first_of(job, sample.when);
    const auto old = std::ranges::find_if(
        before.jobs, [&](const JobSpell& one) { return key_of(one.job) == key_of(job.job); });
    if (goes_on && old != before.jobs.end()) go_on(*old, flow, seconds, spell);
    now.jobs.push_back(std::move(spell));
  }
  return now;
}

std::string job_name(const GpuJob& job) {
  if (!job.hpc_job.empty()) return "Slurm job " + job.hpc_job;
  if (!job.pod.empty())
    return fmt::format("pod {}{}{}", job.name_space, job.name_space.empty() ? "" : "/", job.pod);
  if (!job.container.empty()) return "container " + job.container;
  return "processes of " + (job.user.empty() ? "an unknown user" : job.user);
}

bool is_stalled(const JobSpell& spell) {
  return spell.readings >= kStalledReadings && spell.seconds() >= kStalledSeconds;
}

}  // namespace railbed
