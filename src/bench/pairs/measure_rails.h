// Measuring all rails between two nodes at once.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "bench/core/pair.h"

namespace railbed {

struct RailEnds {
  std::string rail;
  PairEnd a;
  PairEnd b;
};

// Measures the bandwidth of the plan's first engine, with messages of the plan's first size, on all rails at
// the same time: from a to b and, if the plan goes both ways, from b to a. For each direction returns one
// measurement for each rail, marked as measured at the same time as the others, and their total
// (results/all_rails.h). The total is missing if a rail failed. `rails` must be at least two, between the
// same two nodes.
std::vector<Measurement> measure_rails(const std::vector<RailEnds>& rails, const BenchPlan& plan,
                                       const OnMeasuring& on_measuring, std::stop_token stop);

}  // namespace railbed
