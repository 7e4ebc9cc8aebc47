// Opens TCP sockets for any protocol on top. None of them blocks.
#pragma once

#include <sys/socket.h>

#include "base/fd.h"
#include "base/ip.h"

namespace railbed {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};
SocketAddress socket_address(const IpAddress& address, int port);

// Opens a listener. Returns an empty Fd with errno set on failure. Port 0 lets the kernel pick one. A
// listener on the IPv6 wildcard address accepts IPv4, too.
Fd listening_socket(const SocketAddress& address, int backlog);
// A backlog for listeners with untrusted clients: while those are turned away, new ones wait and are not
// refused.
inline constexpr int kBacklog = 1024;
int port_of(int listener);  // 0 on failure

Fd stream_socket(int family);
// Starts to connect. The socket becomes writable when it is connected or has failed; connect_error() then has
// the result. Returns false if it failed at once, with errno set.
bool begin_connecting(int fd, const SocketAddress& to);
int connect_error(int fd);  // 0: connected

}  // namespace railbed
