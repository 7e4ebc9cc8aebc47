#pragma once

#include "bench/core/pair.h"

namespace railbed {

// Each fills in one measurement, whose engine, metric, ends, size and streams are set already. Both ends have
// an address.
void measure_tcp_bandwidth(const PairEnd& from, const PairEnd& to, const BenchPlan& plan,
                           Measurement& measurement, std::stop_token stop);
void measure_tcp_latency(const PairEnd& from, const PairEnd& to, const BenchPlan& plan,
                         Measurement& measurement, std::stop_token stop);

}  // namespace railbed
