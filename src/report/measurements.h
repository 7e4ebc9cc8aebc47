// Measurements as text: TCP beside RDMA, each number beside its ceiling.
#pragma once

#include <string>
#include <vector>

#include "report/findings.h"
#include "results/measurement.h"

namespace railbed {

// One block a path. Of many paths only the worst are written out, unless all are asked for; the rest is one
// line a rail. Empty without measurements.
std::string render_text(const std::vector<Measurement>& measurements, const TextOptions& options = {});

}  // namespace railbed
