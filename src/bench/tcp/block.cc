#include "bench/tcp/block.h"

#include <cstring>

#include "bench/core/pattern.h"

namespace railbed {
namespace {

constexpr std::uint64_t kLast = std::uint64_t{1} << 63;
// The pattern of block n starts at (n mod kShifts) × kShift.
constexpr std::uint64_t kShifts = 61;
constexpr std::uint64_t kShift = 64;

}  // namespace

Blocks::Blocks(std::size_t block_bytes, std::uint64_t seed, int stream)
    : size_(block_bytes),
      seed_(scramble(seed + static_cast<std::uint64_t>(stream))),
      pattern_(make_pattern(block_bytes + kShifts * kShift, seed_)) {}

BlockStamp Blocks::stamp(bool last) const {
  const std::uint64_t sequence = sequence_ | (last ? kLast : 0);
  return {sequence, scramble(sequence ^ seed_)};
}

std::span<const std::byte> Blocks::body() const {
  return std::span(pattern_).subspan((sequence_ % kShifts) * kShift, size_ - 2 * sizeof(BlockStamp));
}

std::span<iovec> Blocks::next(bool last) {
  BlockStamp& kept = stamps_[sequence_ % kKept];
  kept = stamp(last);
  const auto middle = body();
  parts_[0] = {&kept, sizeof kept};
  parts_[1] = {const_cast<std::byte*>(middle.data()), middle.size()};
  parts_[2] = {&kept, sizeof kept};
  ++sequence_;
  return parts_;
}

BlockCheck Blocks::check(std::span<const std::byte> block) {
  BlockCheck result;
  BlockStamp expected = stamp(true);
  result.last = std::memcmp(block.data(), &expected, sizeof expected) == 0;
  if (!result.last) expected = stamp(false);
  const auto bytes = std::as_bytes(std::span(&expected, 1));
  result.wrong +=
      count_wrong(block.first(bytes.size()), bytes) + count_wrong(block.last(bytes.size()), bytes);
  result.checked += 2 * bytes.size();
  if (result.last || scramble(sequence_) % 8 == 0) {
    const auto middle = body();
    result.wrong += count_wrong(block.subspan(bytes.size(), middle.size()), middle);
    result.checked += middle.size();
  }
  ++sequence_;
  return result;
}

}  // namespace railbed
