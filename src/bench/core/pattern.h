// The bytes that benchmarks send. Both ends can compute them from a seed, so the receiver can check a
// transfer while it is timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace railbed {

// Maps 64 bits to 64 well-mixed bits, fast (the finalizer of SplitMix64, Steele, Lea and Flood 2014).
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Fills `bytes` with pseudo-random bytes. The same seed gives the same bytes; a shorter span gets a prefix of
// them.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);
std::vector<std::byte> make_pattern(std::size_t size, std::uint64_t seed);

// Returns the number of bytes that differ. The spans must have equal sizes.
std::uint64_t count_wrong(std::span<const std::byte> got, std::span<const std::byte> expected);

}  // namespace railbed
