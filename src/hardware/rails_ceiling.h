// The most that several rails between two nodes carry at once.
#pragma once

#include <string>
#include <vector>

#include "hardware/ceilings.h"

namespace railbed {

// Interfaces of one node that share a limit: a hop of PCIe, or a cable.
struct SharedHop {
  std::vector<std::string> interfaces;
  Limit limit;  // of all of them together
};
// Those of two interfaces or more, the most shared last; of several that the same share, the narrowest.
std::vector<SharedHop> shared_hops(const Facts& facts, std::string_view node,
                                   const std::vector<std::string>& interfaces);

// One rail and what it carries alone.
struct RailPath {
  CeilingEnd a;
  CeilingEnd b;
  Ceiling alone;
};
// The sum of the rails' ceilings, and of each node where its rails share a hop what is left of that sum. The
// binding limit first. Nothing where a rail has no ceiling; nominal where one's is.
Ceiling rails_ceiling(const std::vector<RailPath>& rails);

}  // namespace railbed
