// TCP sockets whose every wait is bounded: by a deadline, by a stall limit, and by a stop request.
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

// A connection or a listener; this room says what is done over it.
using Socket = Fd;

// Who may connect: 128 random bits, shown by the connecting side in its first bytes.
inline constexpr std::size_t kTokenHex = 32;

struct Listener {
  Socket socket;
  int port = 0;
};
// Bound to this address alone, at a port the kernel picks.
Result<Listener> listen_on(const IpAddress& address, int backlog);

// Waits for `count` connections that show the token; they come back in the order of the stream number they
// gave. Others are closed, as are those that say nothing for two seconds.
Result<std::vector<Socket>> accept_streams(const Listener& listener, std::string_view token, int count,
                                           std::chrono::milliseconds deadline, std::stop_token stop);
// Connects from this node's own rail address and shows the token.
Result<Socket> connect_stream(const IpAddress& from, const IpAddress& to, int port, std::string_view token,
                              int stream, std::chrono::milliseconds deadline, std::stop_token stop);

// Why a transfer ended before it was through.
enum class Break { kNone, kClosed, kStalled, kSlow, kStopped, kError };

// How long a sender waits for room. A full buffer of the kernel takes seconds to leave over a slow path: as
// long as the other side acknowledges bytes there is progress, and up to three times `patience` are borne.
class SendPatience {
 public:
  SendPatience(int fd, std::chrono::nanoseconds patience) : fd_(fd), patience_(patience) {}
  // Asked while there is no room: kNone to go on waiting, kStalled after `patience` without any progress,
  // kSlow after three times as long with some.
  Break waited();
  void begin_anew() { began_ = 0; }

 private:
  int fd_;
  std::chrono::nanoseconds patience_;
  std::uint64_t began_ = 0;  // 0: not waiting
  std::uint64_t since_ = 0;  // the last progress that was seen
  std::uint64_t acknowledged_ = 0;
};

// Both move everything or say why not. "Stalled" is no progress at all for `patience`; `errno` is kept for
// kError. `calls` counts the system calls that sent something.
Break send_all(int fd, std::span<iovec> parts, std::chrono::nanoseconds patience, const std::stop_token& stop,
               int flags = 0, std::uint64_t* calls = nullptr);
Break receive_all(int fd, std::span<std::byte> into, std::chrono::nanoseconds patience,
                  const std::stop_token& stop);
// The same without ever sleeping: asks the kernel again and again.
Break receive_all_spinning(int fd, std::span<std::byte> into, std::chrono::nanoseconds patience,
                           const std::stop_token& stop);
// Has the kernel look at the adapter, too, while it is asked (SO_BUSY_POLL), where that is allowed.
void poll_adapter(int fd);
// At least one byte, at most all of `into`; `got` says how many.
Break receive_some(int fd, std::span<std::byte> into, std::size_t& got, std::chrono::nanoseconds patience,
                   const std::stop_token& stop);

// Waits until the other side has taken all that was sent, and closes: kClosed.
Break await_close(int fd, std::chrono::nanoseconds patience, const std::stop_token& stop);

// The kernel's view of a connection (TCP_INFO).
struct TcpInfo {
  std::uint64_t segments_sent = 0;  // with data
  std::uint64_t retransmitted = 0;  // segments, over the connection's life
  std::uint64_t acknowledged = 0;   // bytes, over the connection's life
  std::uint32_t waiting = 0;        // bytes in the buffer that were not sent yet
  std::uint32_t unanswered = 0;     // retransmissions in a row without an acknowledgement
  std::uint32_t probes = 0;         // unanswered probes of a closed receive window
  double round_trip_us = 0;         // smoothed
  int mtu = 0;                      // of the path
};
TcpInfo read_tcp_info(int fd);

}  // namespace railbed
