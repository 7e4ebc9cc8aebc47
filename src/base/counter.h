// The increase of a counter between two readings.
#pragma once

#include <cstdint>
#include <optional>

namespace railbed {

// Returns the increase of a counter; a 32-bit counter, as those of mlx5's queue pairs, may have wrapped around. Returns
// nullopt if the counter was reset: it fell without wrapping.
constexpr std::optional<std::uint64_t> moved(std::uint64_t before, std::uint64_t after) {
  if (after >= before) return after - before;
  constexpr std::uint64_t kRound = std::uint64_t{1} << 32;
  if (before < kRound && before - after > kRound / 2) return kRound - before + after;
  return std::nullopt;
}

}  // namespace railbed
