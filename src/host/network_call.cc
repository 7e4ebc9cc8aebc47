// The kernel's view of its network, read without starting a program: on a busy node each program costs more
// than the query.
#include <ifaddrs.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/json.h"
#include "base/text.h"
#include "host/device_calls.h"
#include "host/open.h"
#include "os/errno_name.h"
#include "os/netlink.h"

namespace railbed {
namespace {

// Returns 4 bytes for IPv4 and 16 for IPv6; empty for other families.
std::string raw_bytes(const sockaddr* address) {
  if (address != nullptr && address->sa_family == AF_INET) {
    sockaddr_in v4 = {};
    std::memcpy(&v4, address, sizeof v4);
    return {reinterpret_cast<const char*>(&v4.sin_addr), sizeof v4.sin_addr};
  }
  if (address != nullptr && address->sa_family == AF_INET6) {
    sockaddr_in6 v6 = {};
    std::memcpy(&v6, address, sizeof v6);
    return {reinterpret_cast<const char*>(&v6.sin6_addr), sizeof v6.sin6_addr};
  }
  return "";
}

int prefix_of(std::string_view mask) {
  int bits = 0;
  for (const char byte : mask) bits += std::popcount(static_cast<std::uint8_t>(byte));
  return bits;
}

// Returns the interface's name without the label that an address may have: "eth0" for "eth0:1".
std::string interface_of(const ifaddrs& one) {
  const std::string_view name = one.ifa_name;
  return std::string(name.substr(0, name.find(':')));
}

// Returns whether a query would load the module; reading must change nothing. A kernel with nf_tables built
// in may have no such folder, and is then left alone, too.
bool would_load_nf_tables() {
  return access("/proc/modules", F_OK) == 0 && access("/sys/module/nf_tables", F_OK) != 0;
}

}  // namespace

Reading<std::string> call_addresses() {
  const std::string source = "addresses";
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {miss_of(errno), source};
  std::vector<InterfaceAddresses> interfaces;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    const std::string text = address_text(raw_bytes(one->ifa_addr));
    if (text.empty() || one->ifa_netmask == nullptr) continue;
    const std::string name = interface_of(*one);
    auto found = std::ranges::find(interfaces, name, &InterfaceAddresses::ifname);
    if (found == interfaces.end()) found = interfaces.insert(found, {name, {}});
    found->addr_info.push_back({text, prefix_of(raw_bytes(one->ifa_netmask))});
  }
  freeifaddrs(first);
  return {json::dump(json::encode(interfaces)), source};
}

// Lines are "Iface Destination Gateway Flags RefCnt Use Metric Mask …", with addresses in hexadecimal and *
// for a route that leads nowhere; proc_net(5).
std::vector<std::string> default_routes_in(std::string_view table) {
  constexpr std::string_view kAny = "00000000";
  std::vector<std::string> interfaces;
  for (const auto line : lines(table)) {
    const auto columns = words(line);
    if (columns.size() < 8 || columns[0] == "*" || columns[1] != kAny || columns[7] != kAny) continue;
    if (std::ranges::find(interfaces, columns[0]) == interfaces.end()) interfaces.emplace_back(columns[0]);
  }
  return interfaces;
}

Reading<std::string> call_default_routes() {
  return open_this_machine()->read("/proc/net/route").parsed([](const std::string& table) {
    return std::optional(json::dump(json::encode(default_routes_in(table))));
  });
}

Reading<std::string> call_queues() {
  const std::string source = "queues";
  const NetlinkAnswer answer = ask_netlink(RTM_GETQDISC, NLM_F_DUMP, body_of(tcmsg{}));
  if (answer.error != 0) return {miss_of(answer.error), source};
  std::vector<QueueAnswer> queues;
  for (std::string_view rest : answer.bodies) {
    const auto queue = take_head<tcmsg>(rest);
    if (!queue) continue;
    each_attribute(rest, [&](int type, std::string_view payload) {
      if (type == TCA_KIND)
        queues.push_back(
            {interface_name(static_cast<unsigned>(queue->tcm_ifindex)), attribute_text(payload)});
    });
  }
  return {json::dump(json::encode(queues)), source};
}

Reading<std::string> call_nf_tables() {
  const std::string source = "nf-tables";
  if (would_load_nf_tables())
    return {Miss{Missing::kUnsupported, "nf_tables is not loaded, or built in"}, source};
  const nfgenmsg every_family = {AF_UNSPEC, NFNETLINK_V0, 0};
  const NetlinkAnswer answer = ask_netlink(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE, NLM_F_DUMP,
                                           body_of(every_family), NETLINK_NETFILTER);
  if (answer.error != 0) return {miss_of(answer.error), source};
  std::vector<std::string> tables;
  for (std::string_view rest : answer.bodies) {
    if (!take_head<nfgenmsg>(rest)) continue;
    each_attribute(rest, [&](int type, std::string_view payload) {
      if (type == NFTA_TABLE_NAME) tables.push_back(attribute_text(payload));
    });
  }
  return {json::dump(json::encode(tables)), source};
}

}  // namespace railbed
