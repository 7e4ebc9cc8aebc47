#include "bench/pattern.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

namespace railbed {
namespace {

void fill_random(std::span<std::byte> bytes) {
  // Up to 256 bytes are never cut short once the kernel's pool is ready: getrandom(2).
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
}

}  // namespace

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

std::string random_hex(std::size_t bytes) {
  std::vector<std::byte> random(std::min<std::size_t>(bytes, 256));
  fill_random(random);
  std::string text;
  for (const std::byte byte : random) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  fill_random(std::as_writable_bytes(std::span(&seed, 1)));
  return seed;
}

}  // namespace railbed
