// ICMP echo requests and their replies (RFC 792, RFC 4443).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/ip.h"
#include "base/result.h"

namespace railbed {

// A non-blocking socket for echo requests to one address. It needs no privileges if net.ipv4.ping_group_range
// includes the user's group (icmp(7)); otherwise it is a raw socket, which needs root.
class EchoSocket {
 public:
  static Result<EchoSocket> open(const IpAddress& from, const IpAddress& to);

  int fd() const { return socket_.get(); }
  // Sends an echo request with this sequence number. On failure returns false and sets errno.
  bool send(std::uint16_t sequence, std::span<const std::byte> payload);
  // Takes one waiting packet. Returns true if it is the reply to this sequence number with this payload.
  bool receive(std::uint16_t sequence, std::span<const std::byte> payload);

 private:
  Fd socket_;
  IpAddress to_;
  bool raw_ = false;  // receives other processes' replies too; over IPv4, packets include the IP header
  std::uint16_t id_ = 0;
};

// Returns the Internet checksum of RFC 1071 in the byte order of the packet.
std::uint16_t internet_checksum(std::span<const std::byte> bytes);

}  // namespace railbed
