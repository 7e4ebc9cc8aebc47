// Measurements of one pair as a table: every size, its share of the ceiling, and the calculation of that.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/measurement.h"

namespace railbed {

// Returns an engine's name, "TCP", "GPU copy"; its id in capitals if it has no other.
std::string engine_name(Engine engine);

// Pads the text on the left to `width` columns, with at least one space. "µ" and "×" are two bytes and one
// column.
std::string right_aligned(const std::string& text, std::size_t width);

// True if two measurements belong in one table: engine, metric, operation, rail and both nodes agree.
bool same_table(const Measurement& a, const Measurement& b);

// Returns "RDMA write bandwidth", "TCP latency (half a round trip)".
std::string bench_name(const Measurement& run);

std::string bench_table(const std::vector<Measurement>& measurements);

}  // namespace railbed
