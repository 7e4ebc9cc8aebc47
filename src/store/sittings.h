// Sittings: runs that were made together. Placement, neighbours, temperature and the state of memory stay the
// same through a sitting, so its repeats resemble each other more than two sittings do.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/measurement.h"
#include "results/run.h"

namespace railbed {

// A run that begins an hour or more after the run before it begins another sitting. Our own choice.
inline constexpr double kSittingGapSeconds = 3600;

// The numbers of one sitting. Views into its runs.
struct Sitting {
  std::map<MeasuredSubject, std::vector<double>> repeats;  // logarithms of the medians; only those above zero
  std::map<std::string, std::string> fingerprint;          // of all its runs together
};

// Groups runs by the time at which they began; the sittings are in the order of time. A run without a time is
// a sitting of its own, before the others. The runs must outlive the sittings.
std::vector<Sitting> sittings_of(const std::vector<const BenchRun*>& runs);

// Returns whether all properties of nodes that both sittings know are the same.
bool of_like_nodes(const Sitting& a, const Sitting& b);

}  // namespace railbed
