// How long round trips took, as Prometheus' histograms tell it: counts up to fixed bounds, never reset.
#pragma once

#include <array>
#include <cstdint>

namespace railbed {

// Seconds: from 1 µs, where an RDMA read over one switch lies, to 100 ms, where nothing works any more.
// Closer together where adapters, switches and the kernel's TCP are.
inline constexpr std::array<double, 19> kRoundTripBounds = {1e-6, 2e-6, 3e-6, 5e-6,  7.5e-6, 1e-5, 1.5e-5,
                                                            2e-5, 3e-5, 5e-5, 75e-6, 1e-4,   2e-4, 5e-4,
                                                            1e-3, 2e-3, 5e-3, 2e-2,  1e-1};

struct RoundTrips {
  std::array<std::uint64_t, kRoundTripBounds.size() + 1> counts = {};  // each bound's own; the last beyond
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
