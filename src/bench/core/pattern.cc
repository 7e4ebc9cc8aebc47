#include "bench/core/pattern.h"

#include <cstring>

namespace railbed {

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed) {
  std::uint64_t counter = scramble(seed);
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t word = scramble(counter++);
    std::memcpy(bytes.data() + at, &word, 8);
  }
  const std::uint64_t word = scramble(counter);
  std::memcpy(bytes.data() + at, &word, bytes.size() - at);
}

std::vector<std::byte> make_pattern(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> pattern(size);
  fill_pattern(pattern, seed);
  return pattern;
}

std::uint64_t count_wrong(std::span<const std::byte> got, std::span<const std::byte> expected) {
  if (std::memcmp(got.data(), expected.data(), expected.size()) == 0) return 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) wrong += got[i] != expected[i];
  return wrong;
}

}  // namespace railbed
