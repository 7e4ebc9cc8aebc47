// Text about GPU copies: a row for each GPU's own copies, a matrix of the peers.
#pragma once

#include <string>
#include <vector>

#include "results/measurement.h"

namespace railbed {

// True for a copy from one GPU to another; else it is to, from or within one GPU.
bool is_peer_copy(const Measurement& measurement);
bool is_both_ways(const Measurement& measurement);

// Formats measurements as copy_measurements() (bench/gpu/gpu_copy.h) makes them.
std::string gpu_table(const std::vector<Measurement>& copies);

}  // namespace railbed
