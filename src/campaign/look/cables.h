// Detects which ports of several nodes are on one link: every agent sends the tokens of its ports and returns
// those that arrived at each port (os/link_tokens.h).
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "base/peer.h"
#include "base/result.h"
#include "campaign/caller.h"
#include "facts/facts.h"
#include "fleet/fleet.h"
#include "model/cables.h"

namespace railbed {

inline constexpr std::string_view kLinksHear = "links.hear";  // LinksQuestion → LinksAnswer

// A port of the node, and the token that goes out there; an empty token sends nothing.
struct ListeningLink {
  std::string interface;
  std::string token;
  FIELDS(ListeningLink, interface, token);
};
struct LinksQuestion {
  std::vector<ListeningLink> links;
  std::vector<std::string> known;  // digests of all tokens that count
  int milliseconds = 0;            // 0: only looks at the state of the ports
  FIELDS(LinksQuestion, links, known, milliseconds);
};
struct LinkSeen {
  std::string interface = {};
  bool there = false;
  bool up = false;
  bool carrier = false;
  bool ipv6_off = false;
  int largest_mtu = 0;
  int sent = 0;
  std::string error = {};
  std::vector<std::string> heard = {};   // digests
  std::vector<IpAddress> own = {};       // its link-local addresses
  std::vector<IpAddress> answered = {};  // link-local addresses with a reply to its pings
  int foreign = 0;
  FIELDS(LinkSeen, interface, there, up, carrier, ipv6_off, largest_mtu, sent, error, heard, own, answered,
         foreign);
};
struct LinksAnswer {
  std::vector<LinkSeen> links;
  std::vector<Subnet> routes;
  FIELDS(LinksAnswer, links, routes);
};

Handlers link_handlers();

// A port whose cable is wanted.
struct CableAsk {
  CablePort port;
  bool management = false;  // ListeningPort::management
  bool addressed = false;   // it has an address that is not link-local
};

// Exchanges new tokens for `duration` between all nodes that have ports among `asks`, and returns the tokens that
// each port received. The ports of a node without a response have its error. `facts` add the neighbours that lldpd
// knows. Fails if stopped.
Result<CablesSeen> look_at_cables(fleet::Fleet& fleet, const std::vector<CableAsk>& asks,
                                  const std::map<std::string, Facts>& facts,
                                  std::chrono::milliseconds duration, const Caller& caller);

// Returns the ports of `ports` that have no carrier yet.
std::vector<CablePort> without_carrier(fleet::Fleet& fleet, const std::vector<CablePort>& ports,
                                       const std::stop_token& stop);

}  // namespace railbed
