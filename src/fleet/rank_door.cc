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
#include "fleet/sha256.h"

namespace railbed::fleet {
namespace {

struct Addresses {
  addrinfo* first = nullptr;
  Addresses() = default;
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() {
    if (first != nullptr) freeaddrinfo(first);
  }
};

// Empty: it worked.
std::string resolve(const char* host, int port, int flags, Addresses& found) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  const int failure = getaddrinfo(host, std::to_string(port).c_str(), &wanted, &found.first);
  return failure == 0 ? "" : gai_strerror(failure);
}

Fd try_listening(const addrinfo& address, int backlog) {
  Fd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.open()) return fd;
  const int on = 1;
  const int off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 && listen(fd.get(), backlog) == 0) return fd;
  const int error = errno;
  fd.close();
  errno = error;
  return fd;
}

}  // namespace

std::string proof_of(const Rendezvous& at, Prover prover, std::string_view nonce_of_rank_zero,
                     std::string_view nonce_of_rank, const RankIntroduction& introduction) {
  return hmac_sha256_hex(
      at.secret, fmt::format("{}\n{}\n{}\n{}\n{}", prover == Prover::kRank ? "rank" : "zero", at.job,
                             nonce_of_rank_zero, nonce_of_rank, json::dump(json::encode(introduction))));
}

bool same_proof(std::string_view given, std::string_view right) {
  if (given.size() != right.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    differs |= static_cast<unsigned>(given[i]) ^ static_cast<unsigned>(right[i]);
  return differs == 0;
}

Result<Fd> listen_at(const Rendezvous& at, int backlog) {
  const bool literal = IpAddress::parse(at.host).has_value();
  Addresses addresses;
  // A name may stand for a loopback address on the host itself (Debian's 127.0.1.1), of no use to others.
  if (auto why = resolve(literal ? at.host.c_str() : nullptr, at.port, AI_PASSIVE, addresses); !why.empty())
    return fail(ErrorKind::kUnavailable, fmt::format("listen at {}: {}", at.host, why));
  int error = 0;
  const auto attempt = [&](int family) {
    for (const addrinfo* one = addresses.first; one != nullptr; one = one->ai_next)
      if (one->ai_family == family) {
        Fd fd = try_listening(*one, backlog);
        if (fd.open()) return fd;
        error = errno;
      }
    return Fd();
  };
  // One socket of IPv6 takes both families, where the kernel has it.
  for (const int family : {AF_INET6, AF_INET})
    if (Fd fd = attempt(family); fd.open()) return fd;
  const char* hint = error == EADDRNOTAVAIL ? ": no address of this host, on which rank 0 runs"
                     : error == EADDRINUSE  ? "; --rendezvous HOST:PORT takes another port"
                                            : "";
  return fail(ErrorKind::kUnavailable,
              fmt::format("listen at {} port {}: {}{}", at.host, at.port, std::strerror(error), hint));
}

Result<std::vector<Fd>> start_connecting(const Rendezvous& at) {
  Addresses addresses;
  if (auto why = resolve(at.host.c_str(), at.port, 0, addresses); !why.empty())
    return fail(ErrorKind::kUnavailable, fmt::format("rank 0's host {}: {}", at.host, why));
  std::vector<Fd> under_way;
  for (const addrinfo* one = addresses.first; one != nullptr; one = one->ai_next) {
    Fd fd(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd.open() && (connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0 || errno == EINPROGRESS))
      under_way.push_back(std::move(fd));
  }
  return under_way;
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
