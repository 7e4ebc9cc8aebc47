// What times of a collective are made of, in microseconds.
#pragma once

#include <algorithm>

#include "base/units.h"

namespace railbed {

// Of NCCL's buffers.
inline constexpr double kChunkBytes = 512 * 1024;

inline double transfer_time(double bytes, BitRate rate) {
  return bytes / std::max(1e-6, rate.gigabytes()) / 1e3;
}

// Grows with the transfer to `whole`. Half of it is reached where the transfer takes `half`; `first` of the
// transfer it has at once.
inline double ramp_time(double whole, double transfer, double half, double first = 0) {
  return whole > 0 ? whole * (transfer + first) / (transfer + half) : 0;
}

}  // namespace railbed
