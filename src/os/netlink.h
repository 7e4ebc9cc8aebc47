// Requests to the kernel over netlink. Any user may use the route family and ask generic ones; netfilter needs the
// right to administer the network (CAP_NET_ADMIN).
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
  std::vector<std::string> bodies;  // of the messages, without their headers
};
// Sends one request and collects the reply. `flags` are added to NLM_F_REQUEST. `family` is NETLINK_ROUTE,
// NETLINK_NETFILTER or NETLINK_GENERIC. Waits at most one second for each packet and reads at most 256 packets, enough for the
// tables of any node.
NetlinkAnswer ask_netlink(std::uint16_t type, std::uint16_t flags, std::string_view body,
                          int family = NETLINK_ROUTE);

// Returns the number of a generic family, the type of its requests: of "ethtool"; nullopt if the kernel has none of the
// name.
std::optional<std::uint16_t> generic_family(std::string_view name);

// Returns the header that a family puts before a message's attributes, as the start of a request's body.
template <class Head>
std::string body_of(const Head& head) {
  static_assert(sizeof head % NLMSG_ALIGNTO == 0);
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

// Removes the header from a reply's body and returns it; the attributes stay in `body`. Returns nullopt if
// the body is too short.
template <class Head>
std::optional<Head> take_head(std::string_view& body) {
  Head head = {};
  if (body.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, body.data(), sizeof head);
  body.remove_prefix(sizeof head);
  return head;
}

// Return text for the kernel's numbers; empty if they are not valid.
std::string interface_name(unsigned index);
std::string address_text(std::string_view raw);  // IPv4: 4 bytes, IPv6: 16

// Returns the text of an attribute up to its zero byte.
inline std::string attribute_text(std::string_view payload) {
  return std::string(payload.substr(0, payload.find('\0')));
}

// Appends an attribute to a request's body, with padding.
void append_attribute(std::string& body, std::uint16_t type, std::string_view payload);

// Calls `visit(type, payload)` for each attribute in a sequence of them; stops at one that does not fit.
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
