// Quantities with their unit in the type, so that bits are never compared with bytes.
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

// Formats with three significant digits and a fitting unit: "38.5 Gb/s", "512 Mb/s".
std::string to_text(BitRate rate);
// Formats with three significant digits, below 100 ns in ns: "0.85 µs", "21.9 µs", "1.20 ms".
std::string to_text(Nanoseconds duration);
// Formats with binary prefixes, exactly if the unit divides the size, else with one decimal: "64 KiB", "1
// MiB", "16.5 GiB".
std::string to_text(ByteCount size);

// Parses a positive rate as people write it: "40 Gb/s", "40Gbit/s", "400G", "2.5 Gbps". The prefix k, M, G or
// T is required; all are decimal.
std::optional<BitRate> parse_bit_rate(std::string_view text);
// Parses a positive size below 2^63 bytes: "64 GiB", "64GB" (decimal), "64K" (binary, as in dd and perftest),
// "4096" (bytes).
std::optional<ByteCount> parse_byte_count(std::string_view text);

}  // namespace railbed
