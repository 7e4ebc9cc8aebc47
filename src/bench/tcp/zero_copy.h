// Sending without a copy into the kernel (MSG_ZEROCOPY, Documentation/networking/msg_zerocopy.rst). The
// kernel numbers the calls and reports on the socket's error queue which of them it no longer needs; until
// then the sender must not change the bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>

#include "bench/tcp/socket.h"

namespace railbed {

class ZeroCopySender {
 public:
  // send_all() begins to send only while fewer than `most` calls are in flight. It does not own `fd`.
  ZeroCopySender(int fd, std::uint64_t most);
  // False if this kernel does not support it.
  bool enabled() const { return enabled_; }
  // Sends all bytes; first waits while too many calls are in flight. One call of send_all() may make several
  // system calls, so up to that many more than `most` may then be in flight.
  Break send_all(std::span<iovec> parts, std::chrono::nanoseconds patience, const std::stop_token& stop);
  // Waits until no call is in flight.
  Break drain(std::chrono::nanoseconds patience, const std::stop_token& stop);
  // The number of calls whose bytes the kernel copied nevertheless, as it does on the loopback interface.
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
