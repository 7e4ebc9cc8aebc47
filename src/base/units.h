// Quantities that carry their unit in their type, so that bits are never compared with bytes.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// What people write: "40 Gb/s", "40Gbit/s", "400G", "2.5 Gbps". The unit must be there.
std::optional<BitRate> parse_bit_rate(std::string_view text);
// "64 GiB", "64GB" (decimal), "64K" (binary, as dd and perftest read it), "4096" (bytes).
std::optional<ByteCount> parse_byte_count(std::string_view text);

}  // namespace railbed
