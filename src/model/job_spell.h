// Jobs whose GPUs spin: kernels that wait for other ranks keep a GPU at 100 % utilisation, while it draws little power,
// its memory rests, and nothing passes the network. A single look cannot tell this from a pause between two steps, so a
// monitor folds each reading into the spell that goes on. Pure: no input or output.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "facts/software/gpu_job.h"

namespace railbed {

struct Counts;
struct Facts;

// What one GPU does at a moment. A value that could not be read is empty.
struct GpuWork {
  std::optional<int> utilisation = {};         // percent
  std::optional<int> memory_utilisation = {};  // percent
  std::optional<double> power = {};            // W
  std::optional<double> power_limit = {};      // W; the product's own
  std::optional<std::uint64_t> energy = {};    // mJ since the driver was loaded
  bool mig = false;
  std::string moves =
      {};  // what moves in it, by its performance counters (Hopper and later); empty if nothing or unknown
  std::vector<GpuJob> jobs = {};
};

// What a node's GPUs and adapters do at one moment.
struct WorkSample {
  double when = 0;                           // Unix seconds
  std::map<std::string, GpuWork> gpus = {};  // by PCI address; only GPUs that a process holds
  // Bytes sent and received since some time, by port ("mlx5_0/1") or interface; empty if they could not be read.
  std::map<std::string, std::optional<std::uint64_t>> traffic = {};
};

// Makes a sample of NVML's readings, of the jobs that hold the GPUs, and of the counters of those ports and interfaces on
// PCI that are up. `facts` are those of the last look: its RDMA devices and interfaces. Ports that manage NVSwitches and
// software devices, whose packets their interface counts, are left out.
WorkSample work_sample(double when, const std::map<std::string, Reading<NvmlGpu>>& gpus, const GpuJobs& jobs,
                       const Facts& facts, const Counts& counts, const GpuActivities& activity = {});

// A GPU of such a job.
struct SpellGpu {
  std::string address;
  bool spins = false;                        // else it rests: no kernel runs
  double watts = 0;                          // the highest mean between two readings
  double bar = 0;                            // W that a GPU whose kernels compute exceeds
  std::optional<std::uint64_t> energy = {};  // at the last reading
  FIELDS(SpellGpu, address, spins, watts, bar, energy);
};

// One job on one node, and how long its GPUs have spun.
struct JobSpell {
  GpuJob job;              // its processes on all its GPUs
  double since = 0;        // Unix seconds: the first reading of the spell
  double until = 0;        // the last one
  int readings = 0;        // within the spell; 0: the job does not spin
  std::string works = {};  // why it does not: "GPU 0000:1b:00.0 draws 412 W"
  // Device whose traffic could not be read: whether the job spins is not known.
  std::string unread = {};
  double traffic = 0;  // bytes a second on all adapters, the highest between two readings
  std::vector<SpellGpu> gpus = {};
  FIELDS(JobSpell, job, since, until, readings, works, unread, traffic, gpus);

  double seconds() const { return until - since; }
};

// The spells of a node after its last reading.
struct JobSpells {
  std::vector<JobSpell> jobs = {};
  double when = 0;                                                   // of the last reading
  std::map<std::string, std::optional<std::uint64_t>> traffic = {};  // at that time
  FIELDS(JobSpells, jobs, when, traffic);
};

// Returns the spells after one more reading. A pause of readings, a GPU that computes, copies or changes between spinning
// and resting, another set of GPUs, or traffic begins a spell anew. Jobs of one GPU, GPUs that jobs share, and GPUs in
// MIG mode are left out.
JobSpells next_spells(const JobSpells& before, const WorkSample& sample);

// A job that has done nothing for this long is reported. PyTorch's own watchdog ends one after 10 minutes
// (torch.distributed, init_process_group: timeout of NCCL).
inline constexpr double kStalledSeconds = 300;
inline constexpr int kStalledReadings = 4;    // at least, within that time
inline constexpr double kLongestGap = 180;  // seconds between two readings of one spell
inline constexpr int kSpinPercent = 99;       // utilisation of a GPU that spins, at least
inline constexpr int kRestPercent = 1;        // of one that rests, or of a memory that rests, at most
inline constexpr double kQuietBytesASecond =
    1e6;  // of all adapters together: keepalives, LLDP, probes, monitoring

// Returns "Slurm job 4711", "pod research/trainer-0", "container 0123456789ab" or "processes of alice".
std::string job_name(const GpuJob& job);

// Returns whether the spell is long enough to report, if its traffic could be read.
bool is_stalled(const JobSpell& spell);

}  // namespace railbed
