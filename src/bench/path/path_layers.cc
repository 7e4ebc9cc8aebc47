#include "bench/path/path_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/shell.h"

namespace railbed {
namespace {

using Fault = std::optional<PathFault>;

const PathInterface& own(const PathEndSeen& end) { return end.opened->interface; }
std::string address_of(const PathEndSeen& end) {
  return end.address ? end.address->to_text() : "its address";
}

Fault no_interface(const PathEndSeen& self, const PathEndSeen&) {
  if (own(self).there) return std::nullopt;
  return PathFault{self.node, fmt::format("there is no interface {}", self.interface), "see `ip link`"};
}

Fault link_down(const PathEndSeen& self, const PathEndSeen&) {
  if (own(self).up.value_or(true)) return std::nullopt;
  return PathFault{self.node, fmt::format("{} is down", self.interface),
                   command("ip link set {} up", self.interface).text()};
}

Fault no_carrier(const PathEndSeen& self, const PathEndSeen& peer) {
  if (own(self).carrier.value_or(true)) return std::nullopt;
  if (peer.opened && !own(peer).carrier.value_or(true))
    return PathFault{"",
                     fmt::format("neither {} of {} nor {} of {} has a carrier", self.interface, self.node,
                                 peer.interface, peer.node),
                     "look at the cable between them, or at the switch"};
  return PathFault{self.node, fmt::format("{} has no carrier", self.interface),
                   "look at the cable and the switch port"};
}

Fault no_address(const PathEndSeen& self, const PathEndSeen& peer) {
  if (own(self).has_address.value_or(true) || arrives(peer, self)) return std::nullopt;
  const std::string address = address_of(self);
  const std::string lacks = fmt::format("{} does not have {}", self.interface, address);
  if (!own(self).address_on.empty())
    return PathFault{
        self.node, fmt::format("{}: {} has it", lacks, own(self).address_on),
        fmt::format("see which of the two is the rail's interface: ip address show to {}", address)};
  const int prefix = peer.opened ? own(peer).prefix : 0;
  return PathFault{self.node, lacks,
                   fmt::format("give it its address back: ip address add {}/{} dev {}", address,
                               prefix > 0 ? std::to_string(prefix) : "…", self.interface)};
}

Fault forbidden(const PathEndSeen& self, const PathEndSeen& peer) {
  const SizedKnock& small = self.looked->small;
  if (small.udp.reach != Reach::kForbidden && small.ping.reach != Reach::kForbidden) return std::nullopt;
  return PathFault{
      self.node,
      fmt::format("its own firewall lets nothing out to {} by {}", address_of(peer), self.interface),
      "look at its rules for what goes out: nft list ruleset, or iptables -S OUTPUT"};
}

// Returns the shell command that shows by which route this end's packets to the peer leave.
std::string show_route_with(const PathEndSeen& self, const PathEndSeen& peer) {
  return command("ip route get {} from {}", address_of(peer), address_of(self)).text() + "; ip rule";
}

Fault no_route(const PathEndSeen& self, const PathEndSeen& peer) {
  const RouteAnswer& route = self.looked->route;
  if (route.error.empty()) return std::nullopt;
  return PathFault{self.node,
                   fmt::format("no route from {} to {}: {}", address_of(self), address_of(peer), route.error),
                   "see what forbids it: " + show_route_with(self, peer)};
}

// RoCE leaves by the GID's own interface, regardless of the routes that TCP uses. So a route by another
// interface is the root only if no packet arrives.
Fault other_route(const PathEndSeen& self, const PathEndSeen& peer) {
  const RouteAnswer& route = self.looked->route;
  if (route.interface.empty() || route.interface == self.interface || arrives(self, peer))
    return std::nullopt;
  return PathFault{self.node,
                   fmt::format("what it sends to {} leaves by {}, not by {}", address_of(peer),
                               route.interface, self.interface),
                   "find the route or rule that takes it there: " + show_route_with(self, peer)};
}

// An address of IPoIB has twenty bytes. The first four are those of a queue pair, so they are not compared.
std::string_view part_that_counts(std::string_view mac) {
  constexpr std::size_t kIpoibText = 59;
  return mac.size() == kIpoibText ? mac.substr(12) : mac;
}
bool same_mac(std::string_view one, std::string_view other) {
  return part_that_counts(one) == part_that_counts(other);
}

// Returns the other end's interface that has this MAC, the rail's own if that has it; empty if none has it.
std::string holder_of(const PathEndSeen& peer, const std::string& mac) {
  const auto& macs = own(peer).macs;
  const auto rail = macs.find(peer.interface);
  if (rail != macs.end() && same_mac(rail->second, mac)) return rail->first;
  const auto found = std::ranges::find_if(macs, [&](const auto& one) { return same_mac(one.second, mac); });
  return found == macs.end() ? "" : found->first;
}

std::string mac_of_rail(const PathEndSeen& peer) {
  const auto found = own(peer).macs.find(peer.interface);
  return found == own(peer).macs.end() ? "another" : found->second;
}

// Returns the neighbor entry that should hold the other end's MAC; null if it cannot be judged: packets that
// arrive had the right MAC, and packets through a gateway have the gateway's MAC.
const NeighbourAnswer* judged_neighbour(const PathEndSeen& self, const PathEndSeen& peer) {
  const bool moot = arrives(self, peer) || !self.looked->route.gateway.empty() || own(peer).macs.empty();
  return moot ? nullptr : &self.looked->neighbour;
}

Fault wrong_static_neighbour(const PathEndSeen& self, const PathEndSeen& peer) {
  const NeighbourAnswer* entry = judged_neighbour(self, peer);
  if (entry == nullptr || entry->state != "permanent" || holder_of(peer, entry->mac) == peer.interface)
    return std::nullopt;
  return PathFault{self.node,
                   fmt::format("its static neighbour entry for {} is wrong: {}, but {} of {} is {}",
                               address_of(peer), entry->mac, peer.interface, peer.node, mac_of_rail(peer)),
                   command("ip neigh del {} dev {}", address_of(peer), self.interface).text() +
                       ", and take it out of what sets it"};
}

bool is_learned(const NeighbourAnswer& entry) {
  constexpr std::array<std::string_view, 4> kLearned{"reachable", "stale", "delay", "probe"};
  return std::ranges::find(kLearned, entry.state) != kLearned.end();
}

Fault wrong_learned_neighbour(const PathEndSeen& self, const PathEndSeen& peer) {
  const NeighbourAnswer* entry = judged_neighbour(self, peer);
  if (entry == nullptr || entry->mac.empty() || !is_learned(*entry)) return std::nullopt;
  const std::string holder = holder_of(peer, entry->mac);
  if (holder == peer.interface) return std::nullopt;
  if (!holder.empty())
    return PathFault{
        peer.node,
        fmt::format("{} answers {} for {} in the place of {}", holder, self.node, address_of(peer),
                    peer.interface),
        "let interfaces answer for their own addresses only: sysctl -w net.ipv4.conf.all.arp_ignore=1 "
        "net.ipv4.conf.all.arp_announce=2"};
  return PathFault{
      "",
      fmt::format(
          "{} has {} as the MAC of {} ({}), which is no interface of {}: another machine has that address, "
          "or had it",
          self.node, entry->mac, address_of(peer), entry->state, peer.node),
      fmt::format("on {}: {}; if it comes back, find the port of that MAC in the switch's table", self.node,
                  command("ip neigh flush to {} dev {}", address_of(peer), self.interface).text())};
}

Fault no_neighbour(const PathEndSeen& self, const PathEndSeen& peer) {
  const NeighbourAnswer* entry = judged_neighbour(self, peer);
  if (entry == nullptr || (entry->state != "failed" && entry->state != "incomplete")) return std::nullopt;
  return PathFault{"",
                   fmt::format("nobody answers {} for {} on {}, though both links are up{}", self.node,
                               address_of(peer), self.interface,
                               peer.address->is_v4() ? "" : "; a firewall that drops ICMPv6 does that, too"),
                   "look at the VLANs of both switch ports, and whether both cables are on one rail"};
}

// Returns whether no packet of the peer got in at this end: none was received, and none got a reply.
bool is_shut(const PathEndSeen& self, const PathEndSeen& peer) {
  return self.heard && self.heard->sizes.empty() && !peer.looked->small.answered() &&
         peer.looked->tcp.reach != Reach::kAnswered;
}

Fault shut(const PathEndSeen& self, const PathEndSeen& peer) {
  if (!is_shut(self, peer)) return std::nullopt;
  if (is_shut(peer, self))
    return PathFault{
        "",
        fmt::format("ping, TCP and UDP get through neither way: firewalls of {} and "
                    "{} that let ssh in and nothing else, or a filter between them",
                    self.node, peer.node),
        fmt::format(
            "let them in on {} and {} from the rail's subnet: nft list ruleset, or iptables -S INPUT, "
            "shows the rules",
            self.interface, peer.interface)};
  const PathLooked& theirs = *peer.looked;
  // A refused connection means that sshd does not listen at that address, unless a firewall refuses all.
  const bool ssh_too = theirs.ssh.reach == Reach::kAnswered ||
                       (theirs.ssh.reach == Reach::kRefused && theirs.tcp.reach != Reach::kRefused);
  return PathFault{
      self.node,
      fmt::format("a firewall, or a filter before it, lets ssh in and nothing else: ping, TCP and UDP of {} "
                  "do not get in by {}; {}{}",
                  peer.node, self.interface, ssh_too ? "ssh does" : "ssh comes another way",
                  theirs.neighbour.mac.empty() ? "" : ", and its MAC address is known"),
      fmt::format("let the rail's subnet in on {}: nft list ruleset, or iptables -S INPUT, shows the rules",
                  self.interface)};
}

const SizedKnock* smallest_lost(const PathEndSeen& self) {
  const SizedKnock* lost = nullptr;
  for (const SizedKnock& knock : self.looked->large) {
    const bool asked = knock.udp.reach == Reach::kSilent || knock.ping.reach == Reach::kSilent;
    if (asked && !knock.answered() && (lost == nullptr || knock.bytes < lost->bytes)) lost = &knock;
  }
  return lost;
}

int largest_passed(const PathEndSeen& self) {
  int passed = kSmallPacket;
  for (const SizedKnock& knock : self.looked->large)
    if (knock.answered()) passed = std::max(passed, knock.bytes);
  return passed;
}

Fault mtu_hole(const PathEndSeen& self, const PathEndSeen& peer) {
  if (!self.looked->small.answered()) return std::nullopt;
  const SizedKnock* lost = smallest_lost(self);
  if (lost == nullptr) return std::nullopt;
  const int theirs = own(peer).mtu;
  const std::string lose = fmt::format("packets of {} bytes from {} do not arrive", lost->bytes, self.node);
  if (theirs > 0 && theirs < lost->bytes)
    return PathFault{
        peer.node,
        fmt::format("{} has MTU {}, {} of {} has {}: {}", peer.interface, theirs, self.interface, self.node,
                    own(self).mtu, lose),
        "give both ends one MTU: " + command("ip link set {} mtu {}", peer.interface, own(self).mtu).text()};
  return PathFault{
      "",
      fmt::format("{}, those of {} do, and both ends have MTU {} or more: what is between them carries less",
                  lose, largest_passed(self), lost->bytes),
      "raise the MTU of the switch ports and bridges between them, or lower both ends' to what passes"};
}

bool lacks_tcp(const PathEndSeen& self) {
  const Reach tcp = self.looked->tcp.reach;
  return tcp != Reach::kAnswered && tcp != Reach::kUnable && self.looked->small.answered();
}

// If TCP is silent in both directions, either side may drop it, because either the request or its reply may
// be dropped. Then the fault names no node.
Fault no_tcp(const PathEndSeen& self, const PathEndSeen& peer) {
  if (!lacks_tcp(self)) return std::nullopt;
  const bool refused = self.looked->tcp.reach == Reach::kRefused;
  const std::string show = "nft list ruleset, or iptables -S INPUT, shows the rules";
  if (!refused && lacks_tcp(peer)) {
    if (peer.looked->tcp.reach == Reach::kRefused) return std::nullopt;  // the peer's own row has the cause
    return PathFault{
        "",
        fmt::format("ping or UDP is answered, and TCP between {} and {} is dropped both ways: a firewall of "
                    "one of them, or a filter between",
                    self.node, peer.node),
        fmt::format("let TCP of the rail's subnet in on both {} and {}: {}", self.interface, peer.interface,
                    show)};
  }
  return PathFault{
      peer.node,
      fmt::format("a firewall, or a filter before it, {} TCP of {} on {}: its agent listens at port {}, and "
                  "{} is answered",
                  refused ? "refuses" : "drops", self.node, peer.interface, peer.opened->tcp_port,
                  self.looked->small.udp.reach == Reach::kAnswered ? "UDP" : "ping"),
      fmt::format("let TCP of the rail's subnet in on {}: {}", peer.interface, show)};
}

}  // namespace

bool arrives(const PathEndSeen& self, const PathEndSeen& peer) {
  const bool heard = peer.heard && !peer.heard->sizes.empty();
  return heard || (self.looked && self.looked->small.udp.reach == Reach::kAnswered);
}

std::span<const PathRow> path_rows() {
  static const PathRow kRows[] = {
      {PathLayer::kInterface, PathNeeds::kEnd, no_interface},
      {PathLayer::kLink, PathNeeds::kEnd, link_down},
      {PathLayer::kLink, PathNeeds::kEnd, no_carrier},
      {PathLayer::kAddress, PathNeeds::kEnd, no_address},
      {PathLayer::kFirewall, PathNeeds::kFiltered, forbidden},
      {PathLayer::kRoute, PathNeeds::kIp, no_route},
      {PathLayer::kRoute, PathNeeds::kIp, other_route},
      {PathLayer::kNeighbour, PathNeeds::kIp, wrong_static_neighbour},
      {PathLayer::kNeighbour, PathNeeds::kIp, wrong_learned_neighbour},
      {PathLayer::kNeighbour, PathNeeds::kIp, no_neighbour},
      {PathLayer::kFirewall, PathNeeds::kFiltered, shut},
      {PathLayer::kMtu, PathNeeds::kPackets, mtu_hole},
  };
  return kRows;
}

std::span<const PathRow> tcp_rows() {
  static const PathRow kRows[] = {{PathLayer::kTcp, PathNeeds::kFiltered, no_tcp}};
  return kRows;
}

}  // namespace railbed
