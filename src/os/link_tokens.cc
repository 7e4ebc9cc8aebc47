#include "os/link_tokens.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/sha256.h"

namespace railbed {
namespace {

using TokenClock = std::chrono::steady_clock;

constexpr std::string_view kTokenMark = "railbed link token 1 ";
constexpr std::chrono::milliseconds kSendAgain{200};
constexpr std::size_t kDigestDigits = 32;
constexpr std::size_t kMostAnswers = 64;
constexpr int kMostTokenPackets = 20000;  // of a flood; the rest stays unread
constexpr int kOfThisLink = 255;          // hop limit that no router leaves as it was, as in RFC 4861

in6_addr all_nodes() {
  in6_addr address = {};
  address.s6_addr[0] = 0xff;
  address.s6_addr[1] = 0x02;
  address.s6_addr[15] = 1;
  return address;
}

void set_option(int fd, int option, int value) { setsockopt(fd, IPPROTO_IPV6, option, &value, sizeof value); }

void set_common_options(int fd) {
  set_option(fd, IPV6_RECVPKTINFO, 1);
  set_option(fd, IPV6_RECVHOPLIMIT, 1);
  set_option(fd, IPV6_MULTICAST_HOPS, kOfThisLink);
  set_option(fd, IPV6_MULTICAST_LOOP, 0);
}

Fd token_socket(std::string& error) {
  Fd fd(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(kLinkTokenPort);
  const int yes = 1;
  // Two runs may have the port at once: each receives all datagrams.
  if (!fd || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) {
    error = fmt::format("no socket for UDP port {} over IPv6: {}", kLinkTokenPort, std::strerror(errno));
    return Fd();
  }
  set_common_options(fd.get());
  return fd;
}

// Returns no socket for a user outside net.ipv4.ping_group_range: pings only add to what the tokens show.
Fd ping_socket() {
  Fd fd(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6));
  if (!fd) {
    fd = Fd(socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6));
    icmp6_filter replies = {};
    ICMP6_FILTER_SETBLOCKALL(&replies);
    ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &replies);
    if (fd) setsockopt(fd.get(), IPPROTO_ICMPV6, ICMP6_FILTER, &replies, sizeof replies);
  }
  if (fd) set_common_options(fd.get());
  return fd;
}

// Returns 0 or errno.
int send_to_link(int fd, unsigned index, int port, std::string_view bytes) {
  sockaddr_in6 to = {};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(static_cast<std::uint16_t>(port));
  to.sin6_addr = all_nodes();
  to.sin6_scope_id = index;
  const ssize_t sent =
      sendto(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return sent < 0 ? errno : 0;
}

std::string echo_of(std::string_view token) {
  std::string packet(8, '\0');
  packet[0] = static_cast<char>(ICMP6_ECHO_REQUEST);
  packet += token;
  return packet;
}

IpAddress ip_address(const in6_addr& raw) {
  std::array<std::uint8_t, 16> bytes;
  std::copy_n(raw.s6_addr, bytes.size(), bytes.begin());
  return IpAddress(bytes);
}

// Adds this machine's link-local addresses to the entries of their interfaces.
void add_own_addresses(std::map<std::string, LinkTokensHeard>& interfaces) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const auto found = interfaces.find(one->ifa_name);
    if (found == interfaces.end() || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET6)
      continue;
    const IpAddress address = ip_address(reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr);
    if (address.is_link_local()) found->second.own.insert(address);
  }
  freeifaddrs(all);
}

// A packet, where it arrived, and who sent it.
struct LinkPacket {
  std::string_view bytes;
  unsigned index = 0;
  int hops = 0;
  IpAddress from;
};

// Returns false if nothing more is there.
bool receive(int fd, std::array<char, 2048>& buffer, LinkPacket& packet) {
  sockaddr_in6 from = {};
  iovec part = {buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, 256> control;
  msghdr message = {};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(fd, &message, 0);
  if (got < 0) return false;
  packet = {};
  packet.bytes = {buffer.data(), static_cast<std::size_t>(got)};
  packet.from = ip_address(from.sin6_addr);
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != IPPROTO_IPV6) continue;
    if (head->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info = {};
      std::memcpy(&info, CMSG_DATA(head), sizeof info);
      packet.index = static_cast<unsigned>(info.ipi6_ifindex);
    }
    if (head->cmsg_type == IPV6_HOPLIMIT) std::memcpy(&packet.hops, CMSG_DATA(head), sizeof packet.hops);
  }
  return true;
}

// An own interface during the exchange.
struct OpenLink {
  const LinkToken* own = nullptr;
  std::string digest;
  LinkTokensHeard heard;
};

void take_token(const LinkPacket& packet, const std::set<std::string>& known, OpenLink& link) {
  const bool formed = packet.bytes.size() == kTokenMark.size() + 2 * kLinkTokenBytes &&
                      packet.bytes.starts_with(kTokenMark) && packet.hops == kOfThisLink &&
                      packet.from.is_link_local();
  const std::string digest =
      formed ? link_token_digest(packet.bytes.substr(kTokenMark.size())) : std::string();
  if (!formed || !known.contains(digest))
    ++link.heard.foreign;
  else if (digest != link.digest)
    link.heard.digests.insert(digest);
}

void take_answer(const LinkPacket& packet, OpenLink& link) {
  if (packet.bytes.size() < 8 || static_cast<std::uint8_t>(packet.bytes[0]) != ICMP6_ECHO_REPLY ||
      packet.bytes.substr(8) != link.own->token || !packet.from.is_link_local())
    return;
  if (link.heard.answered.size() < kMostAnswers) link.heard.answered.insert(packet.from);
}

}  // namespace

std::string link_token_digest(std::string_view token) { return sha256_hex(token).substr(0, kDigestDigits); }

LinkTokensResult exchange_link_tokens(const std::vector<LinkToken>& own, const std::set<std::string>& known,
                                      std::chrono::milliseconds duration, const std::stop_token& stop) {
  LinkTokensResult result;
  const Fd tokens = token_socket(result.error);
  if (!tokens) return result;
  const Fd pings = ping_socket();
  std::map<unsigned, OpenLink> links;  // by the kernel's number
  for (const LinkToken& one : own) {
    const unsigned index = if_nametoindex(one.interface.c_str());
    if (index == 0) {
      result.interfaces[one.interface].error = std::strerror(errno);
      continue;
    }
    const ipv6_mreq group = {all_nodes(), index};
    setsockopt(tokens.get(), IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &group, sizeof group);
    links[index] = {&one, link_token_digest(one.token), {}};
  }
  const auto send_all = [&] {
    for (auto& [index, link] : links) {
      const int error =
          send_to_link(tokens.get(), index, kLinkTokenPort, std::string(kTokenMark) + link.own->token);
      link.heard.error = error == 0 ? "" : std::strerror(error);
      link.heard.sent += error == 0 ? 1 : 0;
      if (pings) (void)send_to_link(pings.get(), index, 0, echo_of(link.own->token));
    }
  };
  std::array<char, 2048> buffer;
  LinkPacket packet;
  int packets = 0;
  const auto take_all = [&](int fd, const auto& take) {
    while (fd >= 0 && packets < kMostTokenPackets && receive(fd, buffer, packet)) {
      ++packets;
      if (const auto found = links.find(packet.index); found != links.end()) take(found->second);
    }
  };
  const auto until = TokenClock::now() + duration;
  auto next = TokenClock::now();
  while (TokenClock::now() < until && !stop.stop_requested()) {
    if (TokenClock::now() >= next) {
      send_all();
      next += kSendAgain;
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::min(next, until) - TokenClock::now());
    std::array<pollfd, 2> ready = {pollfd{tokens.get(), POLLIN, 0}, pollfd{pings.get(), POLLIN, 0}};
    // After a flood it only sends: others still listen.
    const nfds_t watched = packets < kMostTokenPackets ? 2 : 0;
    poll(ready.data(), watched, static_cast<int>(std::max<std::int64_t>(wait.count(), 0)));
    take_all(tokens.get(), [&](OpenLink& link) { take_token(packet, known, link); });
    take_all(pings.get(), [&](OpenLink& link) { take_answer(packet, link); });
  }
  for (auto& [index, link] : links) result.interfaces[link.own->interface] = std::move(link.heard);
  add_own_addresses(result.interfaces);
  return result;
}

}  // namespace railbed
