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

// Bandwidth of the plan's first engine with messages of its first size, from a to b and, of a plan that goes
// both ways, from b to a: each time one measurement a rail, which say that all carried at once, and their
// total (results/all_rails.h). Without a total where a rail failed. `rails` are at least two, between the
// same nodes.
std::vector<Measurement> measure_rails(const std::vector<RailEnds>& rails, const BenchPlan& plan,
                                       const OnMeasuring& on_measuring, std::stop_token stop);

}  // namespace railbed
