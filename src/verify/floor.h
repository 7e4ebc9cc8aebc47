// Below which bandwidth a measured path fails. A floor that no sound link can miss, or that none can reach,
// is a defect: both are refused.
#pragma once

#include "base/result.h"
#include "base/units.h"
#include "results/measurement.h"

namespace railbed {

inline constexpr double kLeastFraction = 0.1;

// fraction × the binding limit. An error when fraction is not above a tenth and at most one, or when no limit
// is known.
Result<BitRate> bandwidth_floor(const Ceiling& ceiling, double fraction);

// Packets lost on a rail, as a share of those sent: felt, and ruinous (ours: one resend window of RoCE in
// each second, or in each hundredth, at 100 Gb/s).
inline constexpr double kLossWarns = 1e-6;
inline constexpr double kLossFails = 1e-4;
// Of TCP, which loses some packets on every full link; ours.
inline constexpr double kTcpLossWarns = 1e-2;

}  // namespace railbed
