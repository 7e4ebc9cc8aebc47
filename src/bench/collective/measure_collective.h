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

// Runs the collective. Every GPU of every node is a rank, in this order. A failure is reported in the
// report's `failure`, with the rows until then. `began` is the time at which the command began.
CollectiveReport measure_collective(const std::vector<GpuNodeEnd>& nodes, const CollectivePlan& plan,
                                    std::chrono::steady_clock::time_point began, const OnNcclRun& on,
                                    const std::stop_token& stop);

// Converts a report to measurements, for the history: the time of operations below 1 MiB, launched and
// replayed, and the bus bandwidth of larger ones.
std::vector<Measurement> collective_measurements(const CollectiveReport& report);

}  // namespace railbed
