#pragma once

#include <optional>

#include "bench/core/other_traffic.h"
#include "bench/core/pair.h"

namespace railbed {

// The controller's side. Each function fills in one measurement, whose engine, metric, ends, size and streams
// are already set. Both ends must have an address. A failure is reported in `measurement.failure`.
// Returns what it put on the wire; nullopt if the sending end did not tell.
std::optional<OwnTraffic> measure_tcp_bandwidth(const PairEnd& from, const PairEnd& to, const BenchPlan& plan,
                                                Measurement& measurement, std::stop_token stop);
std::optional<OwnTraffic> measure_tcp_latency(const PairEnd& from, const PairEnd& to, const BenchPlan& plan,
                                              Measurement& measurement, std::stop_token stop);

}  // namespace railbed
