// The unit of a TCP transfer: [stamp][pattern][stamp]. Stamps number the blocks of a stream, so a lost,
// repeated or foreign block is seen; the pattern between them shifts from block to block.
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
  std::uint64_t proof = 0;     // scrambles sequence, seed and stream
};

struct BlockCheck {
  std::uint64_t checked = 0;  // bytes compared
  std::uint64_t wrong = 0;
  bool last = false;
};

// One stream's blocks, on either side. Both sides make it from the same numbers.
class Blocks {
 public:
  static constexpr std::size_t kSmallest = 64;
  static constexpr std::size_t kKept = 64;

  Blocks(std::size_t block_bytes, std::uint64_t seed, int stream);
  std::size_t size() const { return size_; }

  // The next block to send: the pieces are valid until the next call, what they point to for kKept calls. No
  // byte of the pattern is copied or written.
  std::span<iovec> next(bool last);
  // Checks the next block received: the stamps always, the pattern in one block of eight and in the last.
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
