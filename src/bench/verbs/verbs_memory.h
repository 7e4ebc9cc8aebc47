// Memory that an adapter may read and write: whole pages, huge ones if possible.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"

namespace railbed {

class PinnedMemory {
 public:
  // Maps at least `bytes` bytes, rounded up to 2 MiB. Child processes do not inherit the memory.
  static Result<PinnedMemory> map(std::size_t bytes);
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})), huge_(other.huge_) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(huge_, other.huge_);
    return *this;
  }
  ~PinnedMemory();
  std::span<std::byte> bytes() const { return bytes_; }
  // Returns whether the pages come from the pool of huge pages that an administrator reserved. If not, the
  // kernel may still use transparent huge pages.
  bool huge() const { return huge_; }

 private:
  std::span<std::byte> bytes_;
  bool huge_ = false;
};

}  // namespace railbed
