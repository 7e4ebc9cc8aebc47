// GPU copies for people: a row for each GPU's own copies, a matrix of the peers.
#pragma once

#include <string>
#include <vector>

#include "results/measurement.h"

namespace railbed {

// From one GPU to another; else to, from or within one GPU.
bool is_peer_copy(const Measurement& one);
bool is_both_ways(const Measurement& one);

// Measurements as copy_measurements() (bench/gpu/gpu_copy.h) makes them.
std::string gpu_table(const std::vector<Measurement>& copies);

}  // namespace railbed
