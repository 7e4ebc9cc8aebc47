#include "bench/core/link.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell.h"
#include "bench/core/typed.h"
#include "facts/network/net.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr std::chrono::milliseconds kLinkDeadline{3000};

bool has_address(const NetInterface& interface, const IpAddress& address) {
  if (!interface.addresses) return true;  // unreadable: report no trouble
  return std::any_of(interface.addresses->begin(), interface.addresses->end(),
                     [&](const InterfaceAddress& own) { return own.address == address; });
}

LinkState look_at(Host& host, const LinkQuestion& question) {
  const Net net = collect_net(host);
  const std::string& name = question.interface;
  if (!net.interfaces) return {};
  const NetInterface* found = find_interface(net, name);
  if (found == nullptr) return {fmt::format("there is no interface {}", name), "see `ip link`", false};
  if (found->administratively_up && !*found->administratively_up)
    return {fmt::format("{} is down", name), command("ip link set {} up", name).text(), false};
  if (found->carrier && !*found->carrier)
    return {fmt::format("{} has no carrier", name), "look at the cable and the switch port", true};
  if (question.address && !has_address(*found, *question.address))
    return {fmt::format("{} does not have {}", name, question.address->to_text()),
            "give it its address back: " +
                command("ip address add {}/… dev {}", question.address->to_text(), name).text(),
            false};
  return {};
}

}  // namespace

Handlers link_handlers(std::shared_ptr<Host> host) {
  Handlers all;
  all.emplace(kLink, typed_handler<LinkQuestion>(
                         [host](const LinkQuestion& question, std::stop_token) -> Result<LinkState> {
                           return look_at(*host, question);
                         }));
  return all;
}

void blame_links(const std::vector<PairEnd>& ends, Failure& failure, const std::stop_token& stop) {
  if (stop.stop_requested() || failure.stage == "verify") return;
  std::optional<std::pair<std::string, LinkState>> found;
  for (const PairEnd& end : ends) {
    const auto link =
        ask<LinkState>(*end.peer, kLink, LinkQuestion{end.interface, end.address}, kLinkDeadline, stop);
    if (!link || link->trouble.empty()) continue;
    if (!found || (found->second.remote && !link->remote)) found = {end.peer->node(), *link};
  }
  if (!found) return;
  failure.cause = fmt::format("{}: {}; {}", found->first, found->second.trouble, failure.cause);
  failure.remedy = fmt::format("on {}: {}", found->first, found->second.remedy);
}

}  // namespace railbed
