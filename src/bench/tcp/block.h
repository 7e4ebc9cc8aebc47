// The unit of a TCP transfer: [stamp][pattern][stamp]. Stamps number the blocks of a stream, so the receiver
// detects a lost, repeated or foreign block. The pattern between them shifts from block to block.
//
// Both sides compute stamps and pattern from the same seed and stream number. The pattern of block n is a
// part of one random buffer, at an offset that depends on n, so the sender writes no byte of it. The receiver
// compares every stamp, and the pattern of one block of eight, chosen by a hash of its number.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace railbed {

struct BlockStamp {
  std::uint64_t sequence = 0;  // from 0; the highest bit marks a stream's last block
  std::uint64_t proof = 0;     // a hash of sequence, seed and stream
};

struct BlockCheck {
  std::uint64_t checked = 0;  // bytes compared
  std::uint64_t wrong = 0;
  bool last = false;
};

// The blocks of one stream, to send or to check. Both sides construct it from the same numbers.
class Blocks {
 public:
  static constexpr std::size_t kSmallest = 64;
  static constexpr std::size_t kKept = 64;

  Blocks(std::size_t block_bytes, std::uint64_t seed, int stream);
  std::size_t size() const { return size_; }

  // Returns the next block to send. The pieces are valid until the next call; the bytes that they point to,
  // for kKept calls. No byte of the pattern is copied or written.
  std::span<iovec> next(bool last);
  // Checks the next block received, which must have size() bytes: the stamps always, the pattern in one block
  // of eight and in the last.
  BlockCheck check(std::span<const std::byte> block);

 private:
  BlockStamp stamp(bool last) const;
  std::span<const std::byte> body() const;

  std::size_t size_;
  std::uint64_t seed_;
  std::vector<std::byte> pattern_;
  std::uint64_t sequence_ = 0;
  std::array<BlockStamp, kKept> stamps_{};
  std::array<iovec, 3> parts_{};
};

}  // namespace railbed
