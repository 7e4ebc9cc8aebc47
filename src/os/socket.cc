#include "os/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>

namespace railbed {

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

Fd listening_socket(const SocketAddress& address, int backlog) {
  Fd fd = stream_socket(address.family());
  if (!fd) return fd;
  const int on = 1;
  const int off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(fd.get(), address.get(), address.size) != 0 || listen(fd.get(), backlog) != 0) fd.reset();
  return fd;
}

int port_of(int listener) {
  SocketAddress own;
  own.size = sizeof own.storage;
  if (getsockname(listener, own.get(), &own.size) != 0) return 0;
  // sin_port and sin6_port are at the same offset.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&own.storage)->sin_port);
}

Fd stream_socket(int family) { return Fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

bool begin_connecting(int fd, const SocketAddress& to) {
  return connect(fd, to.get(), to.size) == 0 || errno == EINPROGRESS;
}

int connect_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace railbed
