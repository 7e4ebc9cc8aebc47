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

// Without privileges where net.ipv4.ping_group_range has the user's group (icmp(7)); else as root.
class EchoSocket {
 public:
  static Result<EchoSocket> open(const IpAddress& from, const IpAddress& to);

  int fd() const { return socket_.get(); }
  // An echo request with this number; errno says why not.
  bool send(std::uint16_t sequence, std::span<const std::byte> payload);
  // Whether one of the replies that wait is the one to this number.
  bool receive(std::uint16_t sequence, std::span<const std::byte> payload);

 private:
  Fd socket_;
  IpAddress to_;
  bool raw_ = false;  // packets come with their IP header, others' too
  std::uint16_t id_ = 0;
};

// The Internet checksum of RFC 1071, as it stands in the packet.
std::uint16_t internet_checksum(std::span<const std::byte> bytes);

}  // namespace railbed
