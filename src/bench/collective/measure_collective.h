// A collective over the GPUs of one node or of several: the controller's side.
#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>
#include <vector>

#include "bench/collective/collective.h"
#include "bench/gpu/nccl_run.h"

namespace railbed {

inline constexpr std::string_view kCollective = "bench.collective";  // CollectivePlan → ChildName

// Every GPU of every node, ranked in this order. Always answers: what went wrong stands in the report's
// `failure`, with the rows until then. `began` is when the command did.
CollectiveReport measure_collective(const std::vector<GpuNodeEnd>& nodes, const CollectivePlan& plan,
                                    std::chrono::steady_clock::time_point began, const OnNcclRun& on,
                                    const std::stop_token& stop);

// As they are kept and compared: the time of small operations, launched and replayed, and the bus bandwidth
// of large ones.
std::vector<Measurement> collective_measurements(const CollectiveReport& report);

}  // namespace railbed
