// The bandwidth below which a measured path fails. A floor that no sound link can miss, or that none can
// reach, is a mistake; both are refused.
#pragma once

#include "base/result.h"
#include "base/units.h"
#include "results/measurement.h"

namespace railbed {

// A fraction must be above this one: a lower floor would pass almost every path.
inline constexpr double kLeastFraction = 0.1;

// Returns `fraction` times the lowest limit of the ceiling, each limit at its least. Fails with kBadInput unless kLeastFraction <
// fraction <= 1, and with kUnavailable if the path has no known limit.
Result<BitRate> bandwidth_floor(const Ceiling& ceiling, double fraction);

}  // namespace railbed
