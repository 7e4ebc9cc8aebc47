// Measuring a pair of nodes: the controller's side of the engines.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "bench/core/pair.h"

namespace railbed {

// What a plan that names none gets; nothing of an engine that measures no pairs.
std::vector<std::uint64_t> default_sizes(Engine engine);
// Every power of two that an engine takes.
std::vector<std::uint64_t> all_sizes(Engine engine);
int default_streams(Engine engine);

// Bandwidth and latency between two nodes over one rail. Always answers, one Measurement a number, within the
// planned time and some seconds: what went wrong stands in its `failure`, with what was measured until then.
// After a failure an engine's remaining sizes of that metric are left out.
std::vector<Measurement> measure_pair(const PairEnd& a, const PairEnd& b, std::string_view rail,
                                      const BenchPlan& plan, const OnMeasuring& on_measuring,
                                      std::stop_token stop);

}  // namespace railbed
