// Memory that an adapter may read and write: whole pages, huge ones where they can be had.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"

namespace railbed {

class PinnedMemory {
 public:
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
  // Of the pool that an administrator set aside; without it the kernel may still give huge pages unasked.
  bool huge() const { return huge_; }

 private:
  std::span<std::byte> bytes_;
  bool huge_ = false;
};

}  // namespace railbed
