// Measurements of one pair as a table: every size, what it is of its ceiling, and how that was computed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/measurement.h"

namespace railbed {

// "TCP", "GPU copy"; the id in capitals where nothing better is known.
std::string engine_name(Engine engine);

// Padded on the left by columns, at least one space: "µ" and "×" are two bytes and one column.
std::string right_aligned(const std::string& text, std::size_t width);

// Whether two measurements stand in one table: engine, metric, operation, rail and both nodes agree.
bool same_table(const Measurement& a, const Measurement& b);

// "RDMA write bandwidth", "TCP latency (half a round trip)".
std::string bench_name(const Measurement& run);

std::string bench_table(const std::vector<Measurement>& measurements);

}  // namespace railbed
