// Measurements as charts made of tables and bars: text stays text, on a phone, on paper and to a screen
// reader.
#pragma once

#include "report/html.h"
#include "report/paths.h"

namespace railbed {

// Bars by message size, TCP above RDMA, with a tick at each one's ceiling.
Html draw_bandwidths(const Path& path);
// Percentiles on a logarithmic axis, TCP and RDMA on one line.
Html draw_latencies(const Path& path);
// Bandwidth over the time of the fastest run of each engine.
Html draw_intervals(const Path& path);
// Failures, losses and what the numbers mean, in words.
Html describe_path(const Path& path);

}  // namespace railbed
