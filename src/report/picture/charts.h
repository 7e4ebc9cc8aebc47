// Measurements as charts made of tables and bars. Text stays text: on a phone, on paper and for a screen
// reader.
#pragma once

#include "report/page/html.h"
#include "report/paths.h"

namespace railbed {

// Draws bars by message size, TCP above RDMA, with a tick at the ceiling of each.
Html draw_bandwidths(const Path& path);
// Draws percentiles on a logarithmic axis, TCP and RDMA on one line.
Html draw_latencies(const Path& path);
// Draws bandwidth over the time of the fastest run of each engine.
Html draw_intervals(const Path& path);
// Returns failures, losses and the meaning of the numbers, in words.
Html describe_path(const Path& path);

}  // namespace railbed
