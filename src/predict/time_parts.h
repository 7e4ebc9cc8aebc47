// Parts of the time of a collective, in microseconds.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace railbed {

// A chunk of NCCL's buffers.
inline constexpr double kNcclChunkBytes = 512 * 1024;

inline double transfer_time(double bytes, BitRate rate) {
  return bytes / std::max(1e-6, rate.gigabytes()) / 1e3;
}

// Returns a part that grows with the transfer from 0 to `whole`; it is half of `whole` when the transfer
// takes `half`. `first` shifts the curve: the ramp starts as if that much of the transfer had passed.
inline double ramp_time(double whole, double transfer, double half, double first = 0) {
  return whole > 0 ? whole * (transfer + first) / (transfer + half) : 0;
}

// Returns a part that grows like ramp_time(), but over a wider range of sizes: with the root of the transfer while
// it is small.
inline double gradual_ramp_time(double whole, double transfer, double half) {
  return whole > 0 && transfer > 0 ? whole / (1 + std::sqrt(half / transfer)) : 0;
}

}  // namespace railbed
