// The one clock of every engine.
#pragma once

#include <time.h>

#include <cstdint>

namespace railbed {

// Nanoseconds of CLOCK_MONOTONIC_RAW: neither slewed by NTP nor stopped by anything but sleep. Reading the
// time-stamp counter by hand gains about 5 ns a reading (docs/decisions: measuring), too little to pay for
// calibration.
inline std::uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

constexpr std::uint64_t to_ns(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

}  // namespace railbed
