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
  PinnedMemory(PinnedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PinnedMemory();
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace railbed
