// Measurements of one pair as a table: every size, what it is of its ceiling, and how that was computed.
#pragma once

#include <string>
#include <vector>

#include "facts/measurement.h"

namespace railbed {

// "RDMA write bandwidth", "TCP latency (half a round trip)".
std::string bench_name(const Measurement& run);

// One measurement for each subject that was measured several times: median of the medians, `low` and `high`
// the lowest and the highest of them, the rest of the first that has a number.
std::vector<Measurement> merge_repeats(const std::vector<Measurement>& measurements);

std::string bench_table(const std::vector<Measurement>& measurements);

}  // namespace railbed
