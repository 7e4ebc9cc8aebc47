#include "bench/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "bench/clock.h"

namespace railbed {
namespace {

// How often a wait looks at the stop token.
constexpr int kSliceMs = 50;
constexpr std::uint64_t kHelloPatience = 2'000'000'000;
constexpr std::size_t kMostGuests = 64;
// token, ':', stream number in three digits
constexpr std::size_t kHelloBytes = kTokenHex + 4;

std::string reason(int error) { return std::strerror(error); }

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

SocketAddress socket_address(const IpAddress& address, int port) {
  SocketAddress result;
  if (address.is_v4()) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&v4->sin_addr, address.bytes().data() + 12, 4);
    result.size = sizeof *v4;
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&v6->sin6_addr, address.bytes().data(), 16);
    result.size = sizeof *v6;
  }
  return result;
}

// Blocking calls return after a slice, so that stop requests and stalls are seen without another system call.
void set_up(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  const timeval slice{0, kSliceMs * 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// A connection that has not shown its token yet.
struct Guest {
  Socket socket;
  std::string hello;
  std::uint64_t since = 0;
};

// The token is compared without an early exit, so that its bytes cannot be found out one by one.
std::optional<int> stream_of(std::string_view hello, std::string_view token) {
  unsigned differs = 0;
  for (std::size_t i = 0; i < kTokenHex; ++i)
    differs |= static_cast<unsigned>(hello[i]) ^ static_cast<unsigned>(token[i]);
  int stream = -1;
  std::from_chars(hello.data() + kTokenHex + 1, hello.data() + kHelloBytes, stream);
  if (differs != 0 || stream < 0) return std::nullopt;
  return stream;
}

class Door {
 public:
  Door(int listener, std::string_view token, int count)
      : listener_(listener), token_(token), streams_(static_cast<std::size_t>(count)) {}

  bool complete() const {
    return std::all_of(streams_.begin(), streams_.end(), [](const Socket& socket) { return bool(socket); });
  }
  std::size_t arrived() const {
    return static_cast<std::size_t>(
        std::count_if(streams_.begin(), streams_.end(), [](const Socket& socket) { return bool(socket); }));
  }
  std::vector<Socket> take() { return std::move(streams_); }

  void serve_slice() {
    std::vector<pollfd> waiting{{listener_, POLLIN, 0}};
    for (const Guest& guest : guests_) waiting.push_back({guest.socket.fd(), POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), kSliceMs) < 0) return;
    for (std::size_t i = guests_.size(); i-- > 0;)
      if (!still_welcome(guests_[i], waiting[i + 1].revents != 0))
        guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
    if (waiting[0].revents != 0) let_in();
  }

 private:
  void let_in() {
    Socket socket(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket && guests_.size() < kMostGuests) guests_.push_back({std::move(socket), {}, now_ns()});
  }

  // False when the guest is done with: it became a stream, or is shown the door.
  bool still_welcome(Guest& guest, bool readable) {
    if (!readable) return now_ns() - guest.since < kHelloPatience;
    char text[kHelloBytes];
    const ssize_t got = recv(guest.socket.fd(), text, kHelloBytes - guest.hello.size(), 0);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    guest.hello.append(text, static_cast<std::size_t>(got));
    if (guest.hello.size() < kHelloBytes) return true;
    const auto stream = stream_of(guest.hello, token_);
    if (stream && static_cast<std::size_t>(*stream) < streams_.size() &&
        !streams_[static_cast<std::size_t>(*stream)]) {
      set_up(guest.socket.fd());
      streams_[static_cast<std::size_t>(*stream)] = std::move(guest.socket);
    }
    return false;
  }

  int listener_;
  std::string_view token_;
  std::vector<Socket> streams_;
  std::vector<Guest> guests_;
};

Result<void> finish_connect(int fd, const IpAddress& to, std::chrono::milliseconds deadline,
                            const std::stop_token& stop) {
  const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(deadline.count()) * 1'000'000;
  pollfd waiting{fd, POLLOUT, 0};
  while (poll(&waiting, 1, kSliceMs) == 0) {
    if (stop.stop_requested()) return fail(ErrorKind::kCancelled, "stopped");
    if (now_ns() > end)
      return fail(ErrorKind::kTimeout,
                  fmt::format("no answer from {} within {} ms", to.to_text(), deadline.count()));
  }
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("connect to {}: {}", to.to_text(), reason(error)));
  return {};
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Result<Listener> listen_on(const IpAddress& address, int backlog) {
  SocketAddress local = socket_address(address, 0);
  Listener listener;
  listener.socket = Socket(socket(local.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int fd = listener.socket.fd();
  if (fd < 0 || bind(fd, local.get(), local.size) != 0 || listen(fd, backlog) != 0 ||
      getsockname(fd, local.get(), &local.size) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("listen on {}: {}", address.to_text(), reason(errno)));
  // sin_port and sin6_port stand at the same offset.
  listener.port = ntohs(reinterpret_cast<sockaddr_in*>(&local.storage)->sin_port);
  return listener;
}

Result<std::vector<Socket>> accept_streams(const Listener& listener, std::string_view token, int count,
                                           std::chrono::milliseconds deadline, std::stop_token stop) {
  Door door(listener.socket.fd(), token, count);
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
  SocketAddress local = socket_address(from, 0);
  SocketAddress remote = socket_address(to, port);
  Socket socket(::socket(remote.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int fd = socket.fd();
  if (fd < 0 || bind(fd, local.get(), local.size) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("send from {}: {}", from.to_text(), reason(errno)));
  if (connect(fd, remote.get(), remote.size) != 0 && errno != EINPROGRESS)
    return fail(ErrorKind::kUnavailable, fmt::format("connect to {}: {}", to.to_text(), reason(errno)));
  if (auto connected = finish_connect(fd, to, deadline, stop); !connected) return fail(connected.error());
  set_up(fd);
  std::string hello = fmt::format("{}:{:03}", token, stream);
  iovec part{hello.data(), hello.size()};
  if (send_all(fd, {&part, 1}, deadline, stop) != Break::kNone)
    return fail(ErrorKind::kUnavailable, fmt::format("{} closed the connection", to.to_text()));
  return socket;
}

Break send_all(int fd, std::span<iovec> parts, std::chrono::nanoseconds patience, const std::stop_token& stop,
               int flags, std::uint64_t* calls) {
  std::uint64_t stalled_since = 0;
  while (!parts.empty()) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | flags);
    if (sent < 0) {
      if (errno == EPIPE || errno == ECONNRESET) return Break::kClosed;
      // Without room for its notice of a call the kernel takes it with a copy.
      if (errno == ENOBUFS && flags != 0)
        flags = 0;
      else if (errno != EAGAIN && errno != EINTR)
        return Break::kError;
      if (stop.stop_requested()) return Break::kStopped;
      if (stalled_since == 0) stalled_since = now_ns();
      if (now_ns() - stalled_since > static_cast<std::uint64_t>(patience.count())) return Break::kStalled;
      continue;
    }
    stalled_since = 0;
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

TcpInfo read_tcp_info(int fd) {
  ::tcp_info raw{};  // a kernel older than the header fills only its beginning: tcp(7)
  socklen_t size = sizeof raw;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &raw, &size) != 0) return {};
  TcpInfo info;
  info.segments_sent = raw.tcpi_data_segs_out;
  info.retransmitted = raw.tcpi_total_retrans;
  info.unanswered = raw.tcpi_retransmits;
  info.probes = raw.tcpi_probes;
  info.round_trip_us = raw.tcpi_rtt;
  info.mtu = static_cast<int>(raw.tcpi_pmtu);
  return info;
}

}  // namespace railbed
