#include "bench/tcp/socket.h"

#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "bench/core/clock.h"
#include "os/door.h"
#include "os/socket.h"
#include "os/wait.h"

namespace railbed {
namespace {

// token, ':', stream number in three digits
constexpr std::size_t kHelloBytes = kTokenHex + 4;

std::string reason(int error) { return std::strerror(error); }

// Blocking calls return after a slice, so that a thread notices stop requests and stalls without another
// system call.
void set_up(int fd) {
  set_blocking(fd, true);
  const timeval slice{0, kPollSliceMs * 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::optional<std::size_t> stream_of(std::string_view hello, std::string_view token) {
  int stream = -1;
  std::from_chars(hello.data() + kTokenHex + 1, hello.data() + kHelloBytes, stream);
  if (!same_secret(hello.substr(0, kTokenHex), token) || stream < 0) return std::nullopt;
  return static_cast<std::size_t>(stream);
}

// Accepts the connections that send the token, and assigns each to its stream.
class StreamDoor {
 public:
  StreamDoor(int listener, std::string_view token, int count)
      : token_(token),
        streams_(static_cast<std::size_t>(count)),
        door_(listener,
              {kHelloBytes, [](Guest&) { return true; }, [this](Guest& guest) { return hear(guest); }}) {}

  bool complete() const { return arrived() == streams_.size(); }
  std::size_t arrived() const {
    return static_cast<std::size_t>(
        std::count_if(streams_.begin(), streams_.end(), [](const Socket& socket) { return bool(socket); }));
  }
  std::vector<Socket> take() { return std::move(streams_); }
  void serve_slice() { door_.serve_slice(); }

 private:
  bool hear(Guest& guest) {
    if (guest.said.size() < kHelloBytes) return true;
    const auto stream = stream_of(guest.said, token_);
    if (stream && *stream < streams_.size() && !streams_[*stream]) {
      set_up(guest.socket.get());
      streams_[*stream] = std::move(guest.socket);
    }
    return false;
  }

  std::string_view token_;
  std::vector<Socket> streams_;
  Door door_;
};

using Clock = std::chrono::steady_clock;

struct Connecting {
  Socket socket;
  int error = 0;  // errno of connect(2); 0: connected
};

Result<Connecting> try_to_connect(const IpAddress& from, const IpAddress& to, int port,
                                  Clock::time_point until, const std::stop_token& stop) {
  const SocketAddress local = socket_address(from, 0);
  const SocketAddress remote = socket_address(to, port);
  Socket socket = stream_socket(remote.family());
  const int fd = socket.get();
  if (fd < 0 || bind(fd, local.get(), local.size) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("send from {}: {}", from.to_text(), reason(errno)));
  if (!begin_connecting(fd, remote)) return Connecting{{}, errno};
  const Waited waited = wait_writable(fd, until, stop);
  if (waited == Waited::kStopped) return fail(ErrorKind::kCancelled, "stopped");
  if (waited == Waited::kTimeout) return Connecting{{}, ETIMEDOUT};
  const int error = connect_error(fd);
  return Connecting{std::move(socket), error};
}

// On a link that has just come up, a search for the neighbor (ARP, NDP) that began while it was down may
// still be running. When that search fails, the kernel refuses every connection that waited for it. A second
// attempt starts a new search.
Result<Socket> connect_socket(const IpAddress& from, const IpAddress& to, int port,
                              std::chrono::milliseconds deadline, const std::stop_token& stop) {
  const Clock::time_point until = Clock::now() + deadline;
  auto connecting = try_to_connect(from, to, port, until, stop);
  if (connecting && connecting->error == EHOSTUNREACH) {
    connecting = try_to_connect(from, to, port, until, stop);
    if (connecting && connecting->error == ETIMEDOUT) connecting->error = EHOSTUNREACH;
  }
  if (!connecting) return fail(connecting.error());
  if (connecting->error == ETIMEDOUT)
    return fail(ErrorKind::kTimeout,
                fmt::format("no answer from {} within {} ms", to.to_text(), deadline.count()));
  if (connecting->error != 0)
    return fail(ErrorKind::kUnavailable,
                fmt::format("connect to {}: {}", to.to_text(), reason(connecting->error)));
  return std::move(connecting->socket);
}

}  // namespace

Result<Listener> listen_on(const IpAddress& address, int backlog) {
  Listener listener{listening_socket(socket_address(address, 0), backlog), 0};
  if (listener.socket) listener.port = port_of(listener.socket.get());
  if (listener.port == 0)
    return fail(ErrorKind::kUnavailable, fmt::format("listen on {}: {}", address.to_text(), reason(errno)));
  return listener;
}

Result<std::vector<Socket>> accept_streams(const Listener& listener, std::string_view token, int count,
                                           std::chrono::milliseconds deadline, std::stop_token stop) {
  StreamDoor door(listener.socket.get(), token, count);
  const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(deadline.count()) * 1'000'000;
  while (!door.complete()) {
    if (stop.stop_requested()) return fail(ErrorKind::kCancelled, "stopped");
    if (now_ns() > end)
      return fail(ErrorKind::kTimeout, fmt::format("{} of {} connections arrived within {} ms",
                                                   door.arrived(), count, deadline.count()));
    door.serve_slice();
  }
  return door.take();
}

Result<Socket> connect_stream(const IpAddress& from, const IpAddress& to, int port, std::string_view token,
                              int stream, std::chrono::milliseconds deadline, std::stop_token stop) {
  auto socket = connect_socket(from, to, port, deadline, stop);
  if (!socket) return socket;
  const int fd = socket->get();
  set_up(fd);
  std::string hello = fmt::format("{}:{:03}", token, stream);
  iovec part{hello.data(), hello.size()};
  if (send_all(fd, {&part, 1}, deadline, stop) != Break::kNone)
    return fail(ErrorKind::kUnavailable, fmt::format("{} closed the connection", to.to_text()));
  return socket;
}

Break SendPatience::waited() {
  const std::uint64_t now = now_ns();
  const auto patience = static_cast<std::uint64_t>(patience_.count());
  if (began_ == 0) {
    began_ = since_ = now;
    acknowledged_ = read_tcp_info(fd_).acknowledged;
  }
  if (now - since_ <= patience) return Break::kNone;
  const std::uint64_t acknowledged = read_tcp_info(fd_).acknowledged;
  if (acknowledged == acknowledged_) return Break::kStalled;
  if (now - began_ > 3 * patience) return Break::kSlow;
  acknowledged_ = acknowledged;
  since_ = now;
  return Break::kNone;
}

Break send_all(int fd, std::span<iovec> parts, std::chrono::nanoseconds patience, const std::stop_token& stop,
               int flags, std::uint64_t* calls) {
  SendPatience limit(fd, patience);
  while (!parts.empty()) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | flags);
    if (sent < 0) {
      if (errno == EPIPE || errno == ECONNRESET) return Break::kClosed;
      // The kernel has no memory to report this zero-copy call later. Send it with a copy.
      if (errno == ENOBUFS && flags != 0)
        flags = 0;
      else if (errno != EAGAIN && errno != EINTR)
        return Break::kError;
      if (stop.stop_requested()) return Break::kStopped;
      if (const Break why = limit.waited(); why != Break::kNone) return why;
      continue;
    }
    limit.begin_anew();
    if (calls != nullptr && flags != 0) ++*calls;
    while (!parts.empty() && static_cast<std::size_t>(sent) >= parts[0].iov_len) {
      sent -= static_cast<ssize_t>(parts[0].iov_len);
      parts = parts.subspan(1);
    }
    if (parts.empty()) break;
    parts[0].iov_base = static_cast<char*>(parts[0].iov_base) + sent;
    parts[0].iov_len -= static_cast<std::size_t>(sent);
  }
  return Break::kNone;
}

Break receive_some(int fd, std::span<std::byte> into, std::size_t& got, std::chrono::nanoseconds patience,
                   const std::stop_token& stop) {
  std::uint64_t stalled_since = 0;
  while (true) {
    const ssize_t received = recv(fd, into.data(), into.size(), 0);
    if (received > 0) {
      got = static_cast<std::size_t>(received);
      return Break::kNone;
    }
    if (received == 0 || errno == ECONNRESET) return Break::kClosed;
    if (errno != EAGAIN && errno != EINTR) return Break::kError;
    if (stop.stop_requested()) return Break::kStopped;
    if (stalled_since == 0) stalled_since = now_ns();
    if (now_ns() - stalled_since > static_cast<std::uint64_t>(patience.count())) return Break::kStalled;
  }
}

Break receive_all(int fd, std::span<std::byte> into, std::chrono::nanoseconds patience,
                  const std::stop_token& stop) {
  while (!into.empty()) {
    std::size_t got = 0;
    if (const Break why = receive_some(fd, into, got, patience, stop); why != Break::kNone) return why;
    into = into.subspan(got);
  }
  return Break::kNone;
}

Break receive_all_spinning(int fd, std::span<std::byte> into, std::chrono::nanoseconds patience,
                           const std::stop_token& stop) {
  constexpr std::uint64_t kSpinsToLook = 1024;
  std::uint64_t since = 0;
  for (std::uint64_t spins = 1; !into.empty(); ++spins) {
    const ssize_t received = recv(fd, into.data(), into.size(), MSG_DONTWAIT);
    if (received > 0) {
      into = into.subspan(static_cast<std::size_t>(received));
      since = 0;
      continue;
    }
    if (received == 0 || errno == ECONNRESET) return Break::kClosed;
    if (errno != EAGAIN && errno != EINTR) return Break::kError;
    if (spins % kSpinsToLook != 0) continue;
    if (stop.stop_requested()) return Break::kStopped;
    if (since == 0) since = now_ns();
    if (now_ns() - since > static_cast<std::uint64_t>(patience.count())) return Break::kStalled;
  }
  return Break::kNone;
}

void poll_adapter(int fd) {
  const int microseconds = 50;
  setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &microseconds, sizeof microseconds);
}

Break await_close(int fd, std::chrono::nanoseconds patience, const std::stop_token& stop) {
  SendPatience limit(fd, patience);
  while (true) {
    std::byte nothing{};
    std::size_t got = 0;
    const Break why = receive_some(fd, {&nothing, 1}, got, std::chrono::milliseconds(kPollSliceMs), stop);
    if (why != Break::kStalled) return why;
    if (const Break over = limit.waited(); over != Break::kNone) return over;
  }
}

TcpInfo read_tcp_info(int fd) {
  ::tcp_info raw{};  // a kernel older than the header fills only its beginning: tcp(7)
  socklen_t size = sizeof raw;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &raw, &size) != 0) return {};
  TcpInfo info;
  info.segments_sent = raw.tcpi_data_segs_out;
  info.retransmitted = raw.tcpi_total_retrans;
  info.acknowledged = raw.tcpi_bytes_acked;
  // Kernels before 4.19 do not count what was sent again.
  info.bytes_sent = std::max<std::uint64_t>(
      raw.tcpi_bytes_sent,
      raw.tcpi_bytes_acked + std::uint64_t{raw.tcpi_total_retrans} * std::max(raw.tcpi_snd_mss, 1U));
  info.bytes_received = raw.tcpi_bytes_received;
  // The kernel's numbers of segments have 32 bits. Where they may have passed that, the bytes tell how many
  // segments there were at least, and there are no more acknowledgments than segments.
  info.all_segments_sent =
      std::max<std::uint64_t>(raw.tcpi_segs_out, info.bytes_sent / std::max(raw.tcpi_snd_mss, 1U));
  info.all_segments_received =
      info.all_segments_sent > UINT32_MAX ? info.all_segments_sent : raw.tcpi_segs_in;
  info.waiting = raw.tcpi_notsent_bytes;
  info.unanswered = raw.tcpi_retransmits;
  info.probes = raw.tcpi_probes;
  info.round_trip_us = raw.tcpi_rtt;
  info.mtu = static_cast<int>(raw.tcpi_pmtu);
  return info;
}

}  // namespace railbed
