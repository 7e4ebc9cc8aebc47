#include "base/random.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <span>
#include <vector>

namespace railbed {
namespace {

void fill_random(std::span<std::byte> bytes) {
  // Once the kernel's pool is ready, requests of up to 256 bytes are never cut short: getrandom(2).
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
}

}  // namespace

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
