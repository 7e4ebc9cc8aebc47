// A collective over the GPUs of one node or of several: the controller's side.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/peer.h"
#include "bench/collective.h"

namespace railbed {

inline constexpr std::string_view kGpuSeats = "bench.gpu.seats";     // GpuSeats (ignored) → GpuSeats
inline constexpr std::string_view kCollective = "bench.collective";  // CollectivePlan → ChildName

struct CollectiveNode {
  Peer* peer = nullptr;
  std::vector<int> gpus;  // ordinals; empty: all
};

struct OnCollective {
  std::function<void(std::string_view)> measuring;
  std::function<void(std::string_view)> log;  // NCCL's own, of any node, in whole lines
};

// Every GPU of every node, ranked in this order. Always answers: what went wrong stands in the report's
// `failure`, with the rows until then. `began` is when the command did.
CollectiveReport measure_collective(const std::vector<CollectiveNode>& nodes, const CollectivePlan& plan,
                                    std::chrono::steady_clock::time_point began, const OnCollective& on,
                                    const std::stop_token& stop);

// As they are kept and compared: the time of small operations, launched and replayed, and the bus bandwidth
// of large ones.
std::vector<Measurement> collective_measurements(const CollectiveReport& report);

}  // namespace railbed
