// Finds the cables between ports of nodes from the datagrams that arrived at each port (os/link_tokens.h). Pure:
// observations come in, links and notes go out.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"

namespace railbed {

// A port of a node, by the name of its interface.
struct CablePort {
  std::string node;
  std::string interface;
  FIELDS(CablePort, node, interface);
  auto operator<=>(const CablePort&) const = default;
  std::string to_text() const;  // "ens6 of gpu1"
};

// The observations of one port.
struct ListeningPort {
  CablePort port = {};
  bool management = false;               // it has the node's default route, or ssh uses it
  std::optional<bool> up = {};           // this and the next: empty if it could not be read
  std::optional<bool> carrier = {};      // only known of a port that is up
  bool ipv6_off = false;                 // the kernel makes no link-local address on it
  int largest_mtu = 0;                   // bytes that the driver accepts; 0: not known
  int sent = 0;                          // datagrams
  std::string error = {};                // why it sent none
  std::vector<CablePort> heard = {};     // ports whose token arrived here
  std::vector<CablePort> answered = {};  // ports whose link-local address replied to a ping
  int strangers = 0;      // link-local addresses that replied and belong to no port of these nodes
  int foreign = 0;        // datagrams without a token of this run
  std::string lldp = {};  // the other end, as lldpd knows it; a hint only
  FIELDS(ListeningPort, port, management, up, carrier, ipv6_off, largest_mtu, sent, error, heard, answered,
         strangers, foreign, lldp);
};

struct CablesSeen {
  bool named = false;  // a person named the ports: they are rails even if others have RDMA and they do not
  std::vector<ListeningPort> ends = {};                    // in the order of nodes, then of their interfaces
  int udp_port = 0;                                        // of the tokens; a firewall may drop it
  std::map<std::string, std::vector<Subnet>> routes = {};  // by node: the subnets that it has a route to
};

// The kinds of links.
enum class CableKind {
  kDirect,      // two ports of two nodes: a cable, or a switch that nothing else is on
  kSwitch,      // more ports: one broadcast domain
  kManagement,  // a port of the management network is on it: no rail
  kLoop         // ports of one node only: no rail
};
constexpr auto enum_names(CableKind) {
  return std::array<std::string_view, 4>{"direct", "switch", "management", "loop"};
}

// Ports that receive each other's datagrams.
struct CableLink {
  CableKind kind = CableKind::kDirect;
  std::vector<CablePort> ports;  // in the order of CablesSeen::ends
  // The rails on it, each with at most one port a node. A node with several ports in one broadcast domain has
  // several rails there: the two halves of a DGX Spark's port, or two ports on one switch.
  std::vector<std::vector<CablePort>> rails;
  FIELDS(CableLink, kind, ports, rails);
  std::string to_text() const;  // "ens6 of gpu1 - ens7 of gpu2 (direct)"
};

struct Cabling {
  std::vector<CableLink> links;
  std::vector<std::string> notes;  // missing cables, odd ones and unknown ones, with remedies
  std::vector<CablePort> down;     // ports that are not up, so that their cables are unknown
};

// Finds the links. Two ports are on one link if a token of one arrived at the other, in either direction, or if
// each received the other's reply to a ping. A token is proof, because only its sender has it; two pings suffice
// where firewalls drop tokens.
Cabling find_cabling(const CablesSeen& seen);

// Returns the first `count` IPv4 subnets for rails of `nodes` nodes that overlap none of `taken`: always the
// same ones for the same arguments. Fewer if private addresses run out.
std::vector<Subnet> free_subnets(const std::vector<Subnet>& taken, std::size_t count, std::size_t nodes);

// Returns true if one of the subnets contains the other.
bool overlap(const Subnet& one, const Subnet& other);

}  // namespace railbed
