// Computes rates from counters, and keeps the last of them for sparklines. A rate is the increase since the
// reading before, divided by the time on the steady clock, so that a change of the wall clock has no effect.
// There is no rate if a counter is smaller than before (it was reset), or if the reading before is older than
// kLongest: a mean over minutes is not the current rate, and samples should be evenly spaced.
//
// Bytes are those that the port carried. The driver's count of all bytes of the port is preferred. Without
// it, InfiniBand uses the port's own count, and other links use the larger of the RDMA port's and the
// interface's counts. Adapters differ in whether the first includes the second, so their sum might be too
// large.
// includes the second differs between adapters, so their sum may be too much.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "facts/network/counts.h"
#include "monitor/live/live_view.h"
#include "monitor/metrics/node_metrics.h"

namespace railbed {

// The counters of one node, and when they were read.
struct LiveCount {
  std::shared_ptr<const Counts> counts = {};
  std::shared_ptr<const GpuReadings> gpus = {};
  std::chrono::steady_clock::time_point at = {};  // when `counts` were read
};

// Returns the names of the driver counters that a meter uses.
std::vector<std::string> metered_driver_counters();

// Keeps the previous counters of all nodes. Not thread-safe.
class LiveMeter {
 public:
  // Limit for the time between two readings that make a rate.
  static constexpr std::chrono::seconds kLongest{60};

  // Fills in the node's link states, rates and samples. The same reading again adds no sample, so a view may
  // be made at any frequency.
  void measure(LiveView& view, const std::string& node, const LiveCount& count);
  // Forgets nodes, interfaces and GPUs for which measure() was not called since the last forget_unused().
  void forget_unused();

 private:
  struct Port {
    std::chrono::steady_clock::time_point at = {};
    std::map<std::string, std::uint64_t> counters = {};
    std::optional<double> receive = {}, transmit = {};
    std::vector<LiveError> errors = {};
    LiveSamples receive_samples = {}, transmit_samples = {}, error_samples = {};
    bool used = true;
  };
  struct Gpu {
    std::shared_ptr<const GpuReadings> of = {};
    LiveSamples samples = {};
    bool used = true;
  };
  using Key = std::pair<std::string, std::string>;  // node, and interface or PCI address
  void measure_end(LiveEnd& end, const LiveCount& count);
  void measure_gpu(LiveGpu& gpu, const std::string& node, const LiveCount& count);

  std::map<Key, Port> ports_;
  std::map<Key, Gpu> gpus_;
};

}  // namespace railbed
