// Measuring a pair of nodes: the controller's side of the engines.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "bench/core/pair.h"

namespace railbed {

// Returns the message sizes, in bytes, that an engine uses if the plan names none; empty if the engine
// measures no pairs.
std::vector<std::uint64_t> default_sizes(Engine engine);
// Returns every power of two that the engine takes as a message size, up to 4 MiB.
std::vector<std::uint64_t> all_sizes(Engine engine);
// Returns the streams that an engine uses if the plan names no number; 1 if the engine measures no pairs.
int default_streams(Engine engine);

// Measures bandwidth and latency between two nodes over one rail, with each engine of the plan. Returns one
// Measurement for each number, within the planned time and some seconds. A failure is reported in the
// Measurement's `failure`, with the results until then. After a failure the remaining sizes of that engine,
// operation, direction and metric are left out.
std::vector<Measurement> measure_pair(const PairEnd& a, const PairEnd& b, std::string_view rail,
                                      const BenchPlan& plan, const OnMeasuring& on_measuring,
                                      std::stop_token stop);

}  // namespace railbed
