// Rates out of counters, and the last of them for sparklines. Counters are compared with those of the count
// before, by the watch's own clock, which nobody sets: a wall clock that jumps changes no rate. A counter
// that is smaller than before was reset: nothing is said of it this time. The same where the count before is
// too long ago, for a mean over minutes is no rate of now, and samples are to be evenly spaced.
//
// Bytes are what the port carries: the driver's count of all that passed the port, where it keeps one. Else,
// on InfiniBand, the port's own. Else the larger of the RDMA port's and the interface's: whether the first
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

#include "facts/counts.h"
#include "monitor/live_view.h"
#include "monitor/node_metrics.h"

namespace railbed {

// What was counted on one node, and when.
struct LiveCount {
  std::shared_ptr<const Counts> counts = {};
  std::shared_ptr<const GpuReadings> gpus = {};
  std::chrono::steady_clock::time_point at = {};  // of the counts
};

// Of the counters of drivers those that a meter looks at.
std::vector<std::string> metered_driver_counters();

class LiveMeter {
 public:
  static constexpr std::chrono::seconds kLongest{60};  // between two counts that make a rate

  // Fills in what was counted on the node: states, rates and samples. The same count again adds no sample,
  // so that a view may be made as often as one likes.
  void measure(LiveView& view, const std::string& node, const LiveCount& count);
  // Forgets what no measure() has asked for since the last of these: nodes, interfaces and GPUs that are
  // gone.
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
  struct Load {
    std::shared_ptr<const GpuReadings> of = {};
    LiveSamples samples = {};
    bool used = true;
  };
  using Key = std::pair<std::string, std::string>;  // node, and interface or PCI address
  void measure_end(LiveEnd& end, const LiveCount& count);
  void measure_gpu(LiveGpu& gpu, const std::string& node, const LiveCount& count);

  std::map<Key, Port> ports_;
  std::map<Key, Load> gpus_;
};

}  // namespace railbed
