// The durations of round trips in the form of a Prometheus histogram: counts up to fixed bounds, never reset.
#pragma once

#include <array>
#include <cstdint>

namespace railbed {

// Upper bounds in seconds: from 1 µs, the range of an RDMA read over one switch, to 100 ms, where nothing
// works any more. They are denser in the range of adapters, switches and the kernel's TCP.
inline constexpr std::array<double, 19> kRoundTripBounds = {1e-6, 2e-6, 3e-6, 5e-6,  7.5e-6, 1e-5, 1.5e-5,
                                                            2e-5, 3e-5, 5e-5, 75e-6, 1e-4,   2e-4, 5e-4,
                                                            1e-3, 2e-3, 5e-3, 2e-2,  1e-1};

// One histogram.
struct RoundTrips {
  // For each bound, the values above the previous one; the last is for values above all bounds.
  std::array<std::uint64_t, kRoundTripBounds.size() + 1> counts = {};
  double sum = 0;
  std::uint64_t total = 0;

  void add(double seconds) {
    std::size_t at = 0;
    while (at < kRoundTripBounds.size() && seconds > kRoundTripBounds[at]) ++at;
    ++counts[at];
    sum += seconds;
    ++total;
  }
};

}  // namespace railbed
