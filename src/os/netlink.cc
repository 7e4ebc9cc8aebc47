#include "os/netlink.h"

#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>

#include "base/fd.h"

namespace railbed {
namespace {

constexpr int kMostPackets = 256;  // of up to 64 KiB each

// Adds the messages of one packet to `answer`. Returns true if the reply is complete.
bool take_packet(std::string_view packet, NetlinkAnswer& answer) {
  while (packet.size() >= NLMSG_HDRLEN) {
    nlmsghdr head = {};
    std::memcpy(&head, packet.data(), sizeof head);
    if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > packet.size()) return answer.error = EPROTO, true;
    const std::string_view body = packet.substr(NLMSG_HDRLEN, head.nlmsg_len - NLMSG_HDRLEN);
    if (head.nlmsg_type == NLMSG_DONE) return true;
    if (head.nlmsg_type == NLMSG_ERROR) {
      int error = 0;
      if (body.size() >= sizeof error) std::memcpy(&error, body.data(), sizeof error);
      return answer.error = error != 0 ? -error : EPROTO, true;
    }
    answer.bodies.emplace_back(body);
    if ((head.nlmsg_flags & NLM_F_MULTI) == 0) return true;
    packet.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), packet.size()));
  }
  return false;
}

}  // namespace

NetlinkAnswer ask_netlink(std::uint16_t type, std::uint16_t flags, std::string_view body, int family) {
  NetlinkAnswer answer;
  const Fd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, family));
  const timeval second = {1, 0};
  nlmsghdr head = {};
  head.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + body.size());
  head.nlmsg_type = type;
  head.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  head.nlmsg_seq = 1;
  std::string request(reinterpret_cast<const char*>(&head), sizeof head);
  request += body;
  if (!fd || setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second) != 0 ||
      send(fd.get(), request.data(), request.size(), 0) < 0)
    return answer.error = errno, answer;
  std::array<char, 65536> buffer;
  for (int packets = 0; packets < kMostPackets; ++packets) {
    const ssize_t got = recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got < 0) return answer.error = errno, answer;
    if (take_packet({buffer.data(), static_cast<std::size_t>(got)}, answer)) break;
  }
  return answer;
}

std::optional<std::uint16_t> generic_family(std::string_view name) {
  std::string body = body_of(genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0});
  append_attribute(body, CTRL_ATTR_FAMILY_NAME, std::string(name) + '\0');
  const NetlinkAnswer answer = ask_netlink(GENL_ID_CTRL, 0, body, NETLINK_GENERIC);
  std::optional<std::uint16_t> family;
  for (std::string_view rest : answer.bodies) {
    if (!take_head<genlmsghdr>(rest)) continue;
    each_attribute(rest, [&](int type, std::string_view payload) {
      std::uint16_t number = 0;
      if (type != CTRL_ATTR_FAMILY_ID || payload.size() != sizeof number) return;
      std::memcpy(&number, payload.data(), sizeof number);
      family = number;
    });
  }
  return family;
}

std::string interface_name(unsigned index) {
  std::array<char, IF_NAMESIZE> name = {};
  return if_indextoname(index, name.data()) != nullptr ? name.data() : "";
}

std::string address_text(std::string_view raw) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (raw.size() != 4 && raw.size() != 16) return "";
  return inet_ntop(raw.size() == 4 ? AF_INET : AF_INET6, raw.data(), text.data(), text.size()) != nullptr
             ? text.data()
             : "";
}

void append_attribute(std::string& body, std::uint16_t type, std::string_view payload) {
  const nlattr head = {static_cast<std::uint16_t>(NLA_HDRLEN + payload.size()), type};
  body.append(reinterpret_cast<const char*>(&head), sizeof head).append(payload);
  body.resize(NLA_ALIGN(body.size()));
}

}  // namespace railbed
