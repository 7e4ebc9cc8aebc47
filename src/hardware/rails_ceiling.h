// The upper limit of the rate of several rails between two nodes together.
#pragma once

#include <string>
#include <vector>

#include "hardware/ceilings.h"

namespace railbed {

// Interfaces of one node that share a limit: a hop of PCIe, or a cable.
struct SharedHop {
  std::vector<std::string> interfaces;
  Limit limit;  // limit of all of them together
};
// Returns the hops of PCIe that two or more interfaces share, ordered by the number of interfaces. If several
// hops have the same interfaces, only the slowest one is returned.
std::vector<SharedHop> shared_hops(const Facts& facts, std::string_view node,
                                   const std::vector<std::string>& interfaces);

// One rail and its own ceiling.
struct RailPath {
  CeilingEnd a;
  CeilingEnd b;
  Ceiling alone;
};
// Returns the sum of the rails' ceilings, and for each node whose rails share a hop the part of that sum that
// the hops let through; lowest first. No limits if a rail has none; nominal if one rail's ceiling is.
Ceiling rails_ceiling(const std::vector<RailPath>& rails);

}  // namespace railbed
