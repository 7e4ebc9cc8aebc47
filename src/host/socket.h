// TCP sockets as they are opened and reached, whoever then speaks over them. None of them blocks.
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

// Without a socket, errno says why. Port 0 is one that the kernel picks; an address of IPv6 that stands for
// all takes IPv4, too.
Fd listening_socket(const SocketAddress& address, int backlog);
// For doors at which strangers knock, too: who comes while they are turned away waits, and is not sent off.
inline constexpr int kBacklog = 1024;
int port_of(int listener);  // 0: it cannot be told

Fd stream_socket(int family);
// Writable once the connection is there or has failed, which connect_error() tells. False: failed at once.
bool begin_connecting(int fd, const SocketAddress& to);
int connect_error(int fd);  // 0: connected

}  // namespace railbed
