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

struct OnCollective {
  std::function<void(std::string_view)> measuring;
  std::function<void(std::string_view)> log;  // NCCL's own, of any node, in whole lines
};

// Every GPU of every peer, in this order; on one peer alone `plan.gpus` chooses. Always answers: what went
// wrong stands in the report's `failure`, with the rows until then. `began` is when the command did.
CollectiveReport measure_collective(const std::vector<Peer*>& peers, const CollectivePlan& plan,
                                    std::chrono::steady_clock::time_point began, const OnCollective& on,
                                    const std::stop_token& stop);

}  // namespace railbed
