#include <fmt/format.h>

#include <algorithm>

#include "bench/core/handlers.h"
#include "bench/core/typed.h"
#include "bench/tcp/protocol.h"
#include "facts/net.h"
#include "host/host.h"

namespace railbed {
namespace {

bool has_address(const NetInterface& interface, const IpAddress& address) {
  if (!interface.addresses) return true;  // could not look: no trouble seen
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
    return {fmt::format("{} is down", name), fmt::format("ip link set {} up", name), false};
  if (found->carrier && !*found->carrier)
    return {fmt::format("{} has no carrier", name), "look at the cable and the switch port", true};
  if (question.address && !has_address(*found, *question.address))
    return {fmt::format("{} does not have {}", name, question.address->to_text()),
            fmt::format("give it its address back: ip address add {}/… dev {}", question.address->to_text(),
                        name),
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

}  // namespace railbed
