#include "os/datagram.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "os/socket.h"
#include "os/wait.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

// PROBE instead of DO: a path MTU that the kernel learned earlier must not decide in place of the path
// (ip(7)).
void forbid_fragments(int fd, int family) {
  const int probe = family == AF_INET ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE;
  if (family == AF_INET)
    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe);
  else
    setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof probe);
}

// Waits for a datagram that `is_answer` accepts; nullopt if none came by `until`.
std::optional<Knocked> hear_until(int fd, Clock::time_point until, const std::stop_token& stop,
                                  const std::function<bool(std::string_view)>& is_answer) {
  std::array<char, 65536> buffer;
  while (wait_readable(fd, until, stop) == Waited::kReady) {
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return knocked_by(errno);
    if (is_answer({buffer.data(), static_cast<std::size_t>(got)})) return Knocked{Reach::kAnswered, ""};
  }
  return std::nullopt;
}

}  // namespace

Knocked knocked_by(int error) {
  const char* why = std::strerror(error);
  switch (error) {
    case ECONNREFUSED:
    case ECONNRESET:
      return {Reach::kRefused, why};
    case EPERM:
      return {Reach::kForbidden, why};
    case EMSGSIZE:
      return {Reach::kTooLong, why};
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
    case EACCES:  // a route of type prohibit, ip-route(8)
      return {Reach::kUnreachable, why};
    case ETIMEDOUT:
      return {Reach::kSilent, ""};
    default:
      return {Reach::kUnable, why};
  }
}

Knocked exchange_datagrams(int fd, const KnockAt& knock, int port, std::string_view said,
                           const std::function<bool(std::string_view heard)>& is_answer) {
  constexpr int kTimes = 3;
  const SocketAddress remote = socket_address(knock.to, port);
  forbid_fragments(fd, remote.family());
  if (connect(fd, remote.get(), remote.size) != 0) return knocked_by(errno);
  for (int i = 0; i < kTimes && !knock.stop.stop_requested(); ++i) {
    if (send(fd, said.data(), said.size(), MSG_NOSIGNAL) < 0 && errno != EAGAIN) return knocked_by(errno);
    if (auto heard = hear_until(fd, Clock::now() + knock.deadline / kTimes, knock.stop, is_answer))
      return *heard;
  }
  return {Reach::kSilent, ""};
}

}  // namespace railbed
