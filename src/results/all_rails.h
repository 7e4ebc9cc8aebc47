// All rails between two nodes that carry at once, one way: what each of them had then and alone, and what all
// had together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/measurement.h"

namespace railbed {

// The rail's name of their total. No rail of cluster.yaml is called so: names have no spaces.
inline constexpr std::string_view kAllRails = "all rails";

// The operation of a rail's number while all carry, from its own: "write, all rails at once".
std::string at_once(std::string_view operation);
// Whether it was measured so: a rail's part or the total.
bool is_at_once(const Measurement& one);
bool is_total(const Measurement& one);

struct RailPart {
  const Measurement* at_once = nullptr;
  const Measurement* alone = nullptr;  // the same messages; null: not measured
};
struct AllRails {
  const Measurement* total = nullptr;
  std::vector<RailPart> rails;  // as they were measured

  // The sum of what each carries alone; 0 where one was not measured.
  double alone() const;
};

// One for each total; all pointers are into the measurements.
std::vector<AllRails> all_rails_of(const std::vector<Measurement>& measurements);

}  // namespace railbed
