// The path of a packet through a firewall: the verdict of its chains, and the rule that decides.
#pragma once

#include <string>
#include <vector>

#include "base/ip.h"
#include "facts/network/firewall.h"

namespace railbed {

struct PortRange {
  int first = 0;
  int last = 65535;
};

// The first packet of a connection: its state is "new", and its addresses are not translated. It represents
// all packets from these sources to these ports.
// all packets from these sources to these ports.
struct Packet {
  std::string interface;        // incoming
  std::vector<Subnet> sources;  // possible senders
  IpAddress destination;
  std::string protocol;  // tcp, udp, icmp (an echo request)
  PortRange ports;       // all of them are checked
};

enum class Fate { kAccepted, kDropped, kRejected, kUncertain };

// The verdict on a packet.
struct FirewallAnswer {
  Fate fate = Fate::kAccepted;
  std::string rule;                      // decides, or cannot be judged: "inet filter input: policy drop"
  const FirewallChain* entry = nullptr;  // the chain with a hook that leads to the rule
};

// Returns the verdict. Every chain with a hook is consulted: a drop is final, an accept is not.
FirewallAnswer fate_of(const Firewall& firewall, const Packet& packet);

}  // namespace railbed
