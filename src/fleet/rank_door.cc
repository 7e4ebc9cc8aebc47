#include "fleet/rank_door.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/ip.h"
#include "base/json.h"
#include "base/sha256.h"
#include "host/socket.h"
#include "host/wait.h"

namespace railbed::fleet {
namespace {

// Appends the addresses of a host. Returns an error text; empty on success.
std::string resolve(const char* host, int port, int flags, std::vector<SocketAddress>& found) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const int failure = getaddrinfo(host, std::to_string(port).c_str(), &wanted, &first);
  if (failure != 0) return gai_strerror(failure);
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    SocketAddress& address = found.emplace_back();
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  freeaddrinfo(first);
  return "";
}

}  // namespace

std::string proof_of(const Rendezvous& at, Prover prover, std::string_view nonce_of_rank_zero,
                     std::string_view nonce_of_rank, const RankIntroduction& introduction) {
  return proof_of(at.secret, prover, at.job, {nonce_of_rank_zero, nonce_of_rank},
                  json::dump(json::encode(introduction)));
}

std::string proof_of(std::string_view secret, Prover prover, std::string_view purpose, const Nonces& nonces,
                     std::string_view introduction) {
  return hmac_sha256_hex(secret, fmt::format("{}\n{}\n{}\n{}\n{}", prover == Prover::kRank ? "rank" : "zero",
                                             purpose, nonces.of_listener, nonces.of_guest, introduction));
}

Result<Fd> listen_at(const Rendezvous& at, int backlog) {
  const bool literal = IpAddress::parse(at.host).has_value();
  std::vector<SocketAddress> addresses;
  // A name may stand for a loopback address on the host itself (Debian's 127.0.1.1), which others cannot
  // reach. So listen at all addresses.
  if (auto why = resolve(literal ? at.host.c_str() : nullptr, at.port, AI_PASSIVE, addresses); !why.empty())
    return fail(ErrorKind::kUnavailable, fmt::format("listen at {}: {}", at.host, why));
  int error = 0;
  const auto attempt = [&](int family) {
    for (const SocketAddress& address : addresses)
      if (address.family() == family) {
        if (Fd fd = listening_socket(address, backlog)) return fd;
        error = errno;
      }
    return Fd();
  };
  // An IPv6 socket accepts both families, if the kernel supports IPv6.
  for (const int family : {AF_INET6, AF_INET})
    if (Fd fd = attempt(family)) return fd;
  const char* hint = error == EADDRNOTAVAIL ? ": no address of this host, on which rank 0 runs"
                     : error == EADDRINUSE  ? "; --rendezvous HOST:PORT takes another port"
                                            : "";
  return fail(ErrorKind::kUnavailable,
              fmt::format("listen at {} port {}: {}{}", at.host, at.port, std::strerror(error), hint));
}

Result<std::vector<Fd>> start_connecting(const Rendezvous& at) {
  std::vector<SocketAddress> addresses;
  if (auto why = resolve(at.host.c_str(), at.port, 0, addresses); !why.empty())
    return fail(ErrorKind::kUnavailable, fmt::format("rank 0's host {}: {}", at.host, why));
  std::vector<Fd> under_way;
  for (const SocketAddress& address : addresses)
    if (Fd fd = stream_socket(address.family()); fd && begin_connecting(fd.get(), address))
      under_way.push_back(std::move(fd));
  return under_way;
}

Result<std::optional<std::string>> read_line(int fd, std::chrono::steady_clock::time_point until,
                                             const std::stop_token& stop) {
  std::string line;
  while (line.size() < kMaxLine) {
    if (const Waited waited = wait_readable(fd, until, stop); waited != Waited::kReady)
      return waited == Waited::kStopped
                 ? Result<std::optional<std::string>>(fail(ErrorKind::kCancelled, "stopped"))
                 : Result<std::optional<std::string>>(std::nullopt);
    char byte = 0;
    const ssize_t count = recv(fd, &byte, 1, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return std::nullopt;
    if (count < 0) continue;
    if (byte == '\n') return std::optional(std::move(line));
    line.push_back(byte);
  }
  return std::nullopt;
}

void keep_alive(int fd) {
  const int on = 1;
  const int idle = 10;
  const int interval = 5;
  const int probes = 4;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace railbed::fleet
