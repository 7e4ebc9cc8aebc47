// Text about one rail's results of `railbed bench pairs`.
#pragma once

#include <string>
#include <vector>

#include "report/picture/heat_map.h"
#include "results/measurement.h"
#include "results/pairs.h"

namespace railbed {

// Returns the rates of pairs that ran together with others. The HeatMap is for all nodes of the rail.
HeatMap heat_map_of(const RailReport& rail);
// Returns what was measured: "TCP", "RDMA between GPUs' memories", "NCCL's broadcast".
std::string measured_text(const RailReport& rail);
// Returns "gpu07 sends at 26 % of what the others reach".
std::string slow_sentence(const RailReport& rail, const Slow& slow);
std::string pairs_text(const RailReport& rail);

}  // namespace railbed
