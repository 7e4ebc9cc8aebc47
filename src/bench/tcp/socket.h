// TCP sockets. Every wait is bounded: by a deadline or a stall limit, and by a stop request.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/ip.h"
#include "base/result.h"

namespace railbed {

// A connection or a listener.
using Socket = Fd;

// The token that permits a connection: 128 random bits in hexadecimal, which the connecting side sends in its
// first bytes.
inline constexpr std::size_t kTokenHex = 32;

struct Listener {
  Socket socket;
  int port = 0;
};
// Returns a listener bound to this address only, at a port that the kernel picks.
Result<Listener> listen_on(const IpAddress& address, int backlog);

// Waits for `count` connections that send the token. Returns them in the order of the stream numbers that
// they sent. Other connections are closed, as are those that send nothing for two seconds. Fails at the
// deadline.
Result<std::vector<Socket>> accept_streams(const Listener& listener, std::string_view token, int count,
                                           std::chrono::milliseconds deadline, std::stop_token stop);
// Connects from `from`, an address of this node, and sends the token and the stream number.
Result<Socket> connect_stream(const IpAddress& from, const IpAddress& to, int port, std::string_view token,
                              int stream, std::chrono::milliseconds deadline, std::stop_token stop);

// The reason why a transfer ended early; kNone: it did not.
enum class Break { kNone, kClosed, kStalled, kSlow, kStopped, kError };

// Limits the time for which a sender waits for room in the kernel's buffer. Over a slow path a full buffer
// takes seconds to drain. As long as the other side acknowledges bytes there is progress, and the sender
// waits up to three times `patience`.
class SendPatience {
 public:
  SendPatience(int fd, std::chrono::nanoseconds patience) : fd_(fd), patience_(patience) {}
  // To be called while there is no room. Returns kNone to continue waiting, kStalled after `patience` without
  // any progress, kSlow after three times as long with some progress.
  Break waited();
  // To be called when bytes were sent: the next wait begins from zero.
  void begin_anew() { began_ = 0; }

 private:
  int fd_;
  std::chrono::nanoseconds patience_;
  std::uint64_t began_ = 0;  // 0: not waiting
  std::uint64_t since_ = 0;  // time of the last progress
  std::uint64_t acknowledged_ = 0;
};

// Both functions move all bytes, or return the reason why not. kStalled means no progress at all for
// `patience`. For kError, `errno` is kept. `parts` is changed as bytes are sent. With `flags`, `calls` counts
// the system calls that sent something.
Break send_all(int fd, std::span<iovec> parts, std::chrono::nanoseconds patience, const std::stop_token& stop,
               int flags = 0, std::uint64_t* calls = nullptr);
Break receive_all(int fd, std::span<std::byte> into, std::chrono::nanoseconds patience,
                  const std::stop_token& stop);
// Like receive_all(), but never sleeps: calls recv() in a loop.
Break receive_all_spinning(int fd, std::span<std::byte> into, std::chrono::nanoseconds patience,
                           const std::stop_token& stop);
// Makes the kernel also poll the adapter during receive calls (SO_BUSY_POLL), if that is permitted.
void poll_adapter(int fd);
// Receives at least one byte and at most all of `into`; sets `got` to their number.
Break receive_some(int fd, std::span<std::byte> into, std::size_t& got, std::chrono::nanoseconds patience,
                   const std::stop_token& stop);

// Waits until the other side has received all bytes and closes the connection: then returns kClosed.
Break await_close(int fd, std::chrono::nanoseconds patience, const std::stop_token& stop);

// The kernel's view of a connection (TCP_INFO).
struct TcpInfo {
  std::uint64_t segments_sent = 0;  // with data
  std::uint64_t retransmitted = 0;  // segments, over the connection's life
  std::uint64_t acknowledged = 0;   // bytes, over the connection's life
  // Over the connection's life: segments with and without data, and bytes, those sent again included.
  std::uint64_t all_segments_sent = 0;
  std::uint64_t all_segments_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint32_t waiting = 0;     // bytes in the buffer that were not sent yet
  std::uint32_t unanswered = 0;  // retransmissions in a row without an acknowledgment
  std::uint32_t probes = 0;      // unacknowledged probes of a closed receive window
  double round_trip_us = 0;      // smoothed
  int mtu = 0;                   // of the path
};
// All zero if `fd` is not a TCP connection.
TcpInfo read_tcp_info(int fd);

}  // namespace railbed
