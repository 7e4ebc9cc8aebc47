// Quantities that carry their unit in their type, so that bits are never compared with bytes.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

namespace railbed {

using Nanoseconds = std::chrono::duration<double, std::nano>;

struct ByteCount {
  std::uint64_t bytes = 0;
  auto operator<=>(const ByteCount&) const = default;
};

// Bits per second; decimal prefixes (1 Gb/s = 10^9).
struct BitRate {
  double bits_per_second = 0;
  static constexpr BitRate gigabits(double value) { return {value * 1e9}; }
  static constexpr BitRate gigabytes(double value) { return {value * 8e9}; }
  constexpr double gigabits() const { return bits_per_second / 1e9; }
  constexpr double gigabytes() const { return bits_per_second / 8e9; }
  auto operator<=>(const BitRate&) const = default;
};
inline double operator/(BitRate a, BitRate b) { return a.bits_per_second / b.bits_per_second; }
inline BitRate operator*(BitRate a, double factor) { return {a.bits_per_second * factor}; }

// Three significant digits and the unit that fits: "38.5 Gb/s", "512 Mb/s".
std::string to_text(BitRate rate);
// "0.85 µs", "21.9 µs", "1.20 ms".
std::string to_text(Nanoseconds duration);
// Binary prefixes: "64 KiB", "1 MiB", "16.0 GiB".
std::string to_text(ByteCount size);

}  // namespace railbed
