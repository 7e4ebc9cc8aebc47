// Measurements of all rails between two nodes at once, one way: the rate of each rail then and alone, and the
// total.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/measurement.h"

namespace railbed {

// The rail name of the total. No rail of cluster.yaml has this name, because names have no spaces.
inline constexpr std::string_view kAllRails = "all rails";

// Returns the operation of a rail's number while all rails carry, from its own: "write, all rails at once".
std::string at_once(std::string_view operation);
// Return whether a measurement was made with all rails at once (a rail's part or the total), and whether it
// is the total.
bool is_at_once(const Measurement& measurement);
bool is_total(const Measurement& measurement);

struct RailPart {
  const Measurement* at_once = nullptr;
  const Measurement* alone = nullptr;  // the best with the same messages; null if not measured
};
// One total with the parts of its rails.
struct AllRails {
  const Measurement* total = nullptr;
  std::vector<RailPart> rails;  // in the order of measurement

  // Returns the sum of the rails' rates alone; 0 if one was not measured.
  double alone() const;
};

// Returns one AllRails for each total that has a number. The pointers are into `measurements`, which must
// outlive the result.
std::vector<AllRails> all_rails_of(const std::vector<Measurement>& measurements);

}  // namespace railbed
