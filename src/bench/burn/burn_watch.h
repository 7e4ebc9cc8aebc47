// The state of one GPU in a burn-in, and the thread that samples NVML.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/burn/burn.h"
#include "nvidia/calls.h"
#include "nvidia/gpu_probe.h"

namespace railbed {

// The state of one GPU, which the working thread and the sampling thread fill together. Thread-safe.
//
// NVML may hang, so its thread is never waited for: it is detached, and holds the object alive.
class BurnWatch : public std::enable_shared_from_this<BurnWatch> {
 public:
  // `begin` is the start of the burn, by now_ns().
  BurnWatch(BurnGpu gpu, std::uint64_t begin, NvidiaLibraries from);

  // Opens NVML. Returns why the GPU must not be loaded; empty if it may. Where NVML cannot be used, only the samples
  // are missing.
  std::string start();
  // Starts the thread that samples, if start() opened NVML. To be called after the last change of the environment
  // (cuda::Cuda::open): NVML reads it.
  void begin_samples();
  double at() const;  // seconds from the start of the burn

  // Calls change(gpu) under the lock.
  template <class Change>
  void change(Change&& change) {
    const std::lock_guard lock(mutex_);
    change(gpu_);
  }
  void enter(std::optional<BurnPhase> phase);  // nullopt: none
  BurnTally& tally(BurnPhase phase);           // to be used under change() only
  // Returns the state of this moment.
  BurnGpu look();
  // Takes a last sample if start() opened NVML, unless NVML does not answer within seconds, and ends the thread.
  void finish();
  std::optional<double> watts();     // of the last sample
  std::optional<int> temperature();  // likewise
  // Returns the energy that the GPU has used since its driver was loaded; nullopt before Volta. To be called by the
  // working thread only.
  std::optional<double> joules();

 private:
  struct PhaseSums {
    int samples = 0;
    double watts = 0, clock = 0;
  };
  void sample(bool with_counters);
  void count(const GpuCounters& now);

  const std::uint64_t begin_;
  const NvidiaLibraries from_;
  const Say silent_ = [](std::string_view) {};  // steps of this thread must not hide that the other hangs
  std::timed_mutex nvml_mutex_;
  nvml::Nvml nvml_;   // of the sampling thread
  nvml::Nvml meter_;  // of the working thread
  nvml::Device device_ = nullptr;
  std::optional<XidWatch> xid_watch_;  // there once NVML is open
  GpuCounters before_;
  std::atomic<bool> over_{false};
  std::atomic<int> phase_{-1};
  int phase_before_ = -1;
  std::mutex mutex_;
  BurnGpu gpu_;
  BurnCourseKeeper course_;
  std::array<PhaseSums, kBurnPhases> sums_;
  std::optional<double> watts_;
  std::optional<int> temperature_;
};

}  // namespace railbed
