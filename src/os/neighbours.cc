#include "os/neighbours.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <set>

#include "os/netlink.h"

namespace railbed {
namespace {

constexpr std::size_t kMostRoutes = 4096;
constexpr unsigned kLowerUp = 1 << 16;    // IFF_LOWER_UP of linux/if.h, which does not go with net/if.h
constexpr std::size_t kDisableIpv6 = 26;  // DEVCONF_DISABLE_IPV6 of linux/ipv6.h: likewise with netinet/in.h

// Returns the kernel's form: 4 or 16 bytes.
std::string_view raw_address(const IpAddress& address) {
  const auto& bytes = address.bytes();
  const std::size_t skipped = address.is_v4() ? 12 : 0;
  return {reinterpret_cast<const char*>(bytes.data()) + skipped, bytes.size() - skipped};
}

std::uint8_t family_of(const IpAddress& address) { return address.is_v4() ? AF_INET : AF_INET6; }

std::string interface_at(std::string_view index) {
  unsigned number = 0;
  if (index.size() != sizeof number) return "";
  std::memcpy(&number, index.data(), sizeof number);
  return interface_name(number);
}

std::string mac_text(std::string_view raw) {
  std::string text;
  for (const char byte : raw)
    text += fmt::format("{}{:02x}", text.empty() ? "" : ":", static_cast<std::uint8_t>(byte));
  return text;
}

std::string_view state_name(int state) {
  struct Name {
    int bit;
    std::string_view name;
  };
  constexpr std::array kNames{Name{NUD_PERMANENT, "permanent"},   Name{NUD_NOARP, "noarp"},
                              Name{NUD_REACHABLE, "reachable"},   Name{NUD_STALE, "stale"},
                              Name{NUD_DELAY, "delay"},           Name{NUD_PROBE, "probe"},
                              Name{NUD_INCOMPLETE, "incomplete"}, Name{NUD_FAILED, "failed"}};
  for (const Name& name : kNames)
    if ((state & name.bit) != 0) return name.name;
  return "none";
}

// Returns an attribute that holds an MTU; 0 for the kernel's "no limit".
int mtu_of(std::string_view payload) {
  std::uint32_t mtu = 0;
  if (payload.size() == sizeof mtu) std::memcpy(&mtu, payload.data(), sizeof mtu);
  return mtu > 1U << 20 ? 0 : static_cast<int>(mtu);
}

// Reads disable_ipv6 from IFLA_AF_SPEC, which holds the settings of each protocol.
bool is_ipv6_off(std::string_view families) {
  std::int32_t off = 1;
  each_attribute(families, [&](int family, std::string_view settings) {
    if (family != AF_INET6) return;
    each_attribute(settings, [&](int type, std::string_view values) {
      constexpr std::size_t kAt = kDisableIpv6 * sizeof off;
      if (type == IFLA_INET6_CONF && values.size() >= kAt + sizeof off)
        std::memcpy(&off, values.data() + kAt, sizeof off);
    });
  });
  return off != 0;
}

}  // namespace

RouteAnswer route_to(const IpAddress& to, const IpAddress& from) {
  if (to.is_v4() != from.is_v4()) return {"the two addresses are not of one kind", "", ""};
  rtmsg head = {};
  head.rtm_family = family_of(to);
  head.rtm_dst_len = head.rtm_src_len = static_cast<std::uint8_t>(raw_address(to).size() * 8);
  std::string body = body_of(head);
  append_attribute(body, RTA_DST, raw_address(to));
  append_attribute(body, RTA_SRC, raw_address(from));
  const NetlinkAnswer answer = ask_netlink(RTM_GETROUTE, 0, body);
  if (answer.error != 0) return {std::strerror(answer.error), "", ""};
  RouteAnswer route;
  for (std::string_view rest : answer.bodies) {
    if (!take_head<rtmsg>(rest)) continue;
    each_attribute(rest, [&](int type, std::string_view payload) {
      if (type == RTA_OIF) route.interface = interface_at(payload);
      if (type == RTA_GATEWAY) route.gateway = address_text(payload);
    });
  }
  return route;
}

NeighbourAnswer neighbour_on(const std::string& interface, const IpAddress& of) {
  ndmsg head = {};
  head.ndm_family = family_of(of);
  const NetlinkAnswer answer = ask_netlink(RTM_GETNEIGH, NLM_F_DUMP, body_of(head));
  if (answer.error != 0) return {std::strerror(answer.error), "", ""};
  const unsigned index = if_nametoindex(interface.c_str());
  for (std::string_view rest : answer.bodies) {
    const auto entry = take_head<ndmsg>(rest);
    if (!entry || static_cast<unsigned>(entry->ndm_ifindex) != index) continue;
    std::string_view address;
    NeighbourAnswer found{"", std::string(state_name(entry->ndm_state)), ""};
    each_attribute(rest, [&](int type, std::string_view payload) {
      if (type == NDA_DST) address = payload;
      if (type == NDA_LLADDR) found.mac = mac_text(payload);
    });
    if (address == raw_address(of)) return found;
  }
  return {};
}

std::vector<Subnet> routed_subnets() {
  rtmsg head = {};
  head.rtm_family = AF_INET;
  std::set<Subnet> subnets;
  for (std::string_view rest : ask_netlink(RTM_GETROUTE, NLM_F_DUMP, body_of(head)).bodies) {
    const auto route = take_head<rtmsg>(rest);
    if (!route || route->rtm_family != AF_INET || route->rtm_dst_len == 0 || route->rtm_type == RTN_LOCAL ||
        route->rtm_type == RTN_BROADCAST || route->rtm_type == RTN_MULTICAST || subnets.size() >= kMostRoutes)
      continue;
    each_attribute(rest, [&](int type, std::string_view payload) {
      if (type != RTA_DST) return;
      const auto to = IpAddress::parse(address_text(payload));
      const auto subnet = to ? Subnet::of(*to, route->rtm_dst_len) : std::nullopt;
      if (subnet) subnets.insert(*subnet);
    });
  }
  return {subnets.begin(), subnets.end()};
}

InterfaceState interface_state(const std::string& interface) {
  ifinfomsg head = {};
  head.ifi_family = AF_UNSPEC;
  head.ifi_index = static_cast<int>(if_nametoindex(interface.c_str()));
  InterfaceState state;
  if (head.ifi_index == 0) return state;
  for (std::string_view rest : ask_netlink(RTM_GETLINK, 0, body_of(head)).bodies) {
    const auto link = take_head<ifinfomsg>(rest);
    if (!link) continue;
    state.there = true;
    state.up = (link->ifi_flags & IFF_UP) != 0;
    state.carrier = (link->ifi_flags & kLowerUp) != 0;
    state.ipv6_off = true;  // unless the kernel shows the interface's settings of IPv6
    each_attribute(rest, [&](int type, std::string_view payload) {
      if (type == IFLA_MAX_MTU) state.largest_mtu = mtu_of(payload);
      if (type == IFLA_AF_SPEC) state.ipv6_off = is_ipv6_off(payload);
    });
  }
  return state;
}

}  // namespace railbed
