// Questions to the kernel over netlink's route family, which anybody may ask.
#pragma once

#include <linux/netlink.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

struct NetlinkAnswer {
  int error = 0;                    // errno
  std::vector<std::string> bodies;  // of the messages, without their heads
};
// `flags` beside NLM_F_REQUEST. Within a second, and so many messages as a node's tables may well have.
NetlinkAnswer ask_netlink(std::uint16_t type, std::uint16_t flags, std::string_view body);

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
