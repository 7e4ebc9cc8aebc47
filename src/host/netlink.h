// Questions to the kernel over netlink. Anybody may ask the route family; netfilter answers who administers
// the network.
#pragma once

#include <linux/netlink.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

struct NetlinkAnswer {
  int error = 0;                    // errno
  std::vector<std::string> bodies;  // of the messages, without their heads
};
// `flags` beside NLM_F_REQUEST. Within a second, and so many messages as a node's tables may well have.
// `family`: NETLINK_ROUTE, NETLINK_NETFILTER.
NetlinkAnswer ask_netlink(std::uint16_t type, std::uint16_t flags, std::string_view body,
                          int family = NETLINK_ROUTE);

// The head that a family puts before a message's attributes, as a body that asks.
template <class Head>
std::string body_of(const Head& head) {
  static_assert(sizeof head % NLMSG_ALIGNTO == 0);
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

// The head of an answer's body; its attributes stay in `body`.
template <class Head>
std::optional<Head> take_head(std::string_view& body) {
  Head head = {};
  if (body.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, body.data(), sizeof head);
  body.remove_prefix(sizeof head);
  return head;
}

// What the kernel's numbers stand for; empty where they stand for nothing.
std::string interface_name(unsigned index);
std::string address_text(std::string_view raw);  // IPv4: 4 bytes, IPv6: 16

// The text of an attribute that ends in a zero byte.
inline std::string attribute_text(std::string_view payload) {
  return std::string(payload.substr(0, payload.find('\0')));
}

void append_attribute(std::string& body, std::uint16_t type, std::string_view payload);

// Calls `visit(type, payload)` for each attribute of a run of them; stops at one that does not fit.
template <class Visit>
void each_attribute(std::string_view run, const Visit& visit) {
  while (run.size() >= NLA_HDRLEN) {
    nlattr head = {};
    std::memcpy(&head, run.data(), sizeof head);
    if (head.nla_len < NLA_HDRLEN || head.nla_len > run.size()) return;
    visit(head.nla_type & NLA_TYPE_MASK, run.substr(NLA_HDRLEN, head.nla_len - NLA_HDRLEN));
    run.remove_prefix(std::min<std::size_t>(NLA_ALIGN(head.nla_len), run.size()));
  }
}

}  // namespace railbed
