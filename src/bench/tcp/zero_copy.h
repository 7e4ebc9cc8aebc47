// Sending without a copy into the kernel (MSG_ZEROCOPY): the bytes must stay as they are until the kernel
// says that it is through with them (Documentation/networking/msg_zerocopy.rst).
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>

#include "bench/tcp/socket.h"

namespace railbed {

class ZeroCopySender {
 public:
  // `most` calls may be under way at once.
  ZeroCopySender(int fd, std::uint64_t most);
  // False: this kernel has none.
  bool enabled() const { return enabled_; }
  // Sends everything; waits first while too much is under way.
  Break send_all(std::span<iovec> parts, std::chrono::nanoseconds patience, const std::stop_token& stop);
  // Until nothing is under way.
  Break drain(std::chrono::nanoseconds patience, const std::stop_token& stop);
  // Calls whose bytes the kernel copied all the same, as it does on its way to itself.
  std::uint64_t copied() const { return copied_; }

 private:
  Break wait_until(std::uint64_t under_way, std::chrono::nanoseconds patience, const std::stop_token& stop);
  void reap();
  int fd_;
  std::uint64_t most_;
  bool enabled_;
  std::uint64_t called_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t copied_ = 0;
};

}  // namespace railbed
