#include "apply/network_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "apply/writable_host.h"
#include "base/ip.h"
#include "base/json.h"

namespace railbed {
namespace {

using NetworkWords = std::vector<std::vector<std::string>>;

template <class T>
std::vector<T> asked(const WritableHost& host, const std::vector<std::string>& words) {
  const auto answer = host.ask(words);
  if (!answer || answer->exit_code != 0) return {};
  return json::read<std::vector<T>>(answer->output).value_or(std::vector<T>{});
}

const RunningLink* find_link(const NetworkState& state, std::string_view name) {
  const auto found = std::ranges::find(state.links, name, &RunningLink::ifname);
  return found == state.links.end() ? nullptr : &*found;
}

bool is_up(const RunningLink& link) { return std::ranges::find(link.flags, "UP") != link.flags.end(); }

// Link-local addresses and those from a server are not ours to set.
bool is_set_by_hand(const RunningAddress& address) { return address.scope == "global" && !address.dynamic; }

bool has(const RunningLink& link, const RunningAddress& address) {
  return std::ranges::any_of(link.addr_info, [&](const RunningAddress& running_address) {
    return running_address.local == address.local && running_address.prefixlen == address.prefixlen;
  });
}

void add_address(NetworkWords& words, const char* verb, const RunningAddress& address,
                 const std::string& link) {
  words.push_back(
      {"ip", "address", verb, fmt::format("{}/{}", address.local, address.prefixlen), "dev", link});
}

void add_link(NetworkWords& words, const RunningLink& before, const RunningLink& now) {
  for (const RunningAddress& address : now.addr_info)
    if (is_set_by_hand(address) && !has(before, address)) add_address(words, "delete", address, now.ifname);
  if (before.mtu != now.mtu && before.mtu > 0)
    words.push_back({"ip", "link", "set", "dev", now.ifname, "mtu", std::to_string(before.mtu)});
  if (is_up(before) != is_up(now))
    words.push_back({"ip", "link", "set", "dev", now.ifname, is_up(before) ? "up" : "down"});
  for (const RunningAddress& address : before.addr_info)
    if (is_set_by_hand(address) && !has(now, address)) add_address(words, "replace", address, now.ifname);
}

}  // namespace

NetworkState network_state(const WritableHost& host) {
  return {asked<RunningLink>(host, {"ip", "-d", "-j", "address", "show"}),
          asked<DefaultRoute>(host, {"ip", "-j", "route", "show", "default"})};
}

NetworkWords network_commands(const NetworkState& before, const NetworkState& now) {
  NetworkWords words;
  if (before.links.empty()) return words;  // the state could not be read
  for (const RunningLink& link : now.links) {
    const RunningLink* const was = find_link(before, link.ifname);
    if (was != nullptr)
      add_link(words, *was, link);
    else if (link.linkinfo.info_kind == "vlan")
      words.push_back({"ip", "link", "delete", "dev", link.ifname});
  }
  for (const DefaultRoute& route : before.routes) {
    if (std::ranges::find(now.routes, route) != now.routes.end() || !IpAddress::parse(route.gateway))
      continue;
    words.push_back({"ip", "route", "replace", "default", "via", route.gateway, "dev", route.dev});
    if (route.metric > 0) words.back().insert(words.back().end(), {"metric", std::to_string(route.metric)});
  }
  return words;
}

NetworkState taken_back(const NetworkState& before, const NetworkState& after, const NetworkState& now) {
  NetworkState wanted{{}, now.routes};
  for (const RunningLink& link : now.links) {
    const RunningLink* const was = find_link(before, link.ifname);
    const RunningLink* const became = find_link(after, link.ifname);
    const bool touched = (was == nullptr) != (became == nullptr) ||
                         (was != nullptr && (was->mtu != became->mtu || is_up(*was) != is_up(*became) ||
                                             was->addr_info != became->addr_info));
    if (!touched)
      wanted.links.push_back(link);
    else if (was != nullptr)
      wanted.links.push_back(*was);
  }
  return wanted;
}

}  // namespace railbed
