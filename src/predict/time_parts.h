// Parts of the time of a collective, in microseconds.
#pragma once

#include <algorithm>

#include "base/units.h"

namespace railbed {

// A chunk of NCCL's buffers.
inline constexpr double kChunkBytes = 512 * 1024;

inline double transfer_time(double bytes, BitRate rate) {
  return bytes / std::max(1e-6, rate.gigabytes()) / 1e3;
}

// Returns a part that grows with the transfer from 0 to `whole`; it is half of `whole` when the transfer
// takes `half`. `first` shifts the curve: the ramp starts as if that much of the transfer had passed.
inline double ramp_time(double whole, double transfer, double half, double first = 0) {
  return whole > 0 ? whole * (transfer + first) / (transfer + half) : 0;
}

}  // namespace railbed
