// What is sent is known to the receiver, so that a transfer can be checked while it is timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace railbed {

// A fast scrambling of 64 bits (the finalizer of SplitMix64, Steele, Lea and Flood 2014).
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Fills with the pseudo-random bytes that `seed` stands for.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);
std::vector<std::byte> make_pattern(std::size_t size, std::uint64_t seed);

// How many bytes differ. The spans are of one size.
std::uint64_t count_wrong(std::span<const std::byte> got, std::span<const std::byte> expected);

}  // namespace railbed
