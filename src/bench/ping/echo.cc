#include "bench/ping/echo.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/random.h"
#include "os/socket.h"

namespace railbed {
namespace {

// RFC 792 and RFC 4443: type, code, checksum, identifier, sequence number; the payload follows.
struct EchoHeader {
  std::uint8_t type = 0;
  std::uint8_t code = 0;
  std::uint16_t checksum = 0;
  std::uint16_t id = 0;
  std::uint16_t sequence = 0;
};
constexpr std::uint8_t kRequestV4 = 8;
constexpr std::uint8_t kReplyV4 = 0;
constexpr std::uint8_t kRequestV6 = 128;
constexpr std::uint8_t kReplyV6 = 129;
constexpr std::size_t kLargestEcho = 65536;

// Returns the packet without the IP header that raw IPv4 sockets deliver. The low four bits of its first byte
// are its length in units of four bytes. Empty if the packet is shorter than that.
std::span<const std::byte> without_ip_header(std::span<const std::byte> packet) {
  if (packet.empty()) return packet;
  const auto length = 4 * (std::to_integer<std::size_t>(packet[0]) & 0xf);
  return length <= packet.size() ? packet.subspan(length) : std::span<const std::byte>();
}

}  // namespace

std::uint16_t internet_checksum(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    std::array<std::byte, 2> pair{bytes[i], i + 1 < bytes.size() ? bytes[i + 1] : std::byte{0}};
    std::uint16_t word = 0;
    std::memcpy(&word, pair.data(), sizeof word);
    sum += word;
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

Result<EchoSocket> EchoSocket::open(const IpAddress& from, const IpAddress& to) {
  const int family = to.is_v4() ? AF_INET : AF_INET6;
  const int protocol = to.is_v4() ? static_cast<int>(IPPROTO_ICMP) : static_cast<int>(IPPROTO_ICMPV6);
  EchoSocket echo;
  echo.to_ = to;
  echo.id_ = static_cast<std::uint16_t>(random_seed());
  echo.socket_ = Fd(socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  if (!echo.socket_) {
    echo.raw_ = true;
    echo.socket_ = Fd(socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  }
  if (!echo.socket_)
    return fail(ErrorKind::kUnavailable,
                fmt::format("no socket for ICMP: {}; net.ipv4.ping_group_range lets no group in",
                            std::strerror(errno)));
  const SocketAddress own = socket_address(from, 0);
  if (bind(echo.fd(), own.get(), own.size) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", from.to_text(), std::strerror(errno)));
  return echo;
}

bool EchoSocket::send(std::uint16_t sequence, std::span<const std::byte> payload) {
  EchoHeader header{to_.is_v4() ? kRequestV4 : kRequestV6, 0, 0, htons(id_), htons(sequence)};
  std::vector<std::byte> packet(sizeof header + payload.size());
  std::memcpy(packet.data(), &header, sizeof header);
  std::memcpy(packet.data() + sizeof header, payload.data(), payload.size());
  // For IPv6, and for a socket without privileges, the kernel replaces this checksum.
  header.checksum = internet_checksum(packet);
  std::memcpy(packet.data(), &header, sizeof header);
  const SocketAddress to = socket_address(to_, 0);
  return sendto(fd(), packet.data(), packet.size(), 0, to.get(), to.size) ==
         static_cast<ssize_t>(packet.size());
}

bool EchoSocket::receive(std::uint16_t sequence, std::span<const std::byte> payload) {
  std::vector<std::byte> packet(kLargestEcho);
  const ssize_t got = recv(fd(), packet.data(), packet.size(), 0);
  if (got <= 0) return false;
  std::span<const std::byte> reply(packet.data(), static_cast<std::size_t>(got));
  if (raw_ && to_.is_v4()) reply = without_ip_header(reply);
  EchoHeader header;
  if (reply.size() != sizeof header + payload.size()) return false;
  std::memcpy(&header, reply.data(), sizeof header);
  return header.type == (to_.is_v4() ? kReplyV4 : kReplyV6) && header.sequence == htons(sequence) &&
         (!raw_ || header.id == htons(id_)) &&
         std::memcmp(reply.data() + sizeof header, payload.data(), payload.size()) == 0;
}

}  // namespace railbed
