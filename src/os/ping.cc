// ICMP echoes, RFC 792 and RFC 4443.
#include <fmt/format.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/random.h"
#include "os/datagram.h"
#include "os/socket.h"

namespace railbed {
namespace {

constexpr std::size_t kIcmpHead = 8;

// The checksum of RFC 1071. The kernel computes it for ping sockets and for all of ICMPv6.
std::uint16_t internet_sum(std::string_view bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    sum += static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[i])) << (i % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::string echo_request(bool v4, const std::string& mark, int bytes) {
  const int own_head = v4 ? 20 : 40;
  std::string packet(kIcmpHead, '\0');
  packet[0] = static_cast<char>(v4 ? ICMP_ECHO : ICMP6_ECHO_REQUEST);
  packet[7] = 1;  // sequence
  packet += mark;
  packet.resize(std::max(packet.size(), static_cast<std::size_t>(std::max(bytes - own_head, 0))), '.');
  const std::uint16_t sum = v4 ? internet_sum(packet) : std::uint16_t{0};
  packet[2] = static_cast<char>(sum >> 8);
  packet[3] = static_cast<char>(sum & 0xff);
  return packet;
}

// Returns whether a packet is the echo reply with this mark. A raw IPv4 socket also receives the IP header.
bool is_reply(std::string_view heard, bool v4, bool raw, std::string_view mark) {
  if (v4 && raw && !heard.empty())
    heard.remove_prefix(
        std::min<std::size_t>(heard.size(), std::size_t{4} * (static_cast<std::uint8_t>(heard[0]) & 15)));
  const int reply = v4 ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY;
  return heard.size() >= kIcmpHead && static_cast<std::uint8_t>(heard[0]) == reply &&
         heard.substr(kIcmpHead).starts_with(mark);
}

}  // namespace

Knocked ping(const KnockAt& knock, int bytes) {
  const bool v4 = knock.to.is_v4();
  const SocketAddress local = socket_address(knock.from, 0);
  const int protocol = v4 ? static_cast<int>(IPPROTO_ICMP) : static_cast<int>(IPPROTO_ICMPV6);
  bool raw = false;
  Fd fd(socket(local.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  if (!fd) {
    raw = true;
    fd = Fd(socket(local.family(), SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  }
  if (!fd)
    return {Reach::kUnable,
            fmt::format("no socket for pings ({}; net.ipv4.ping_group_range)", std::strerror(errno))};
  if (bind(fd.get(), local.get(), local.size) != 0) return {Reach::kUnable, std::strerror(errno)};
  const std::string mark = random_hex(8);
  return exchange_datagrams(fd.get(), knock, 0, echo_request(v4, mark, bytes),
                            [&](std::string_view heard) { return is_reply(heard, v4, raw, mark); });
}

}  // namespace railbed
