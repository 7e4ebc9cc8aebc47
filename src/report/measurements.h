// Measurements as text: TCP beside RDMA, each number beside its ceiling.
#pragma once

#include <string>
#include <vector>

#include "report/findings.h"
#include "results/measurement.h"

namespace railbed {

// Returns one block for each path. Of many paths only the worst are shown in full unless options.all; the
// rest is one line for each rail. Empty without measurements.
std::string render_text(const std::vector<Measurement>& measurements, const TextOptions& options = {});

}  // namespace railbed
