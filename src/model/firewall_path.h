// The way of a packet through a firewall: which verdict its chains come to, and by which rule.
#pragma once

#include <string>
#include <vector>

#include "base/ip.h"
#include "facts/firewall.h"

namespace railbed {

struct PortRange {
  int first = 0;
  int last = 65535;
};

// The first packet of a connection: its state is "new", and nobody has translated its addresses.
struct Packet {
  std::string interface;        // that it comes in by
  std::vector<Subnet> sources;  // who may send it
  IpAddress destination;
  std::string protocol;  // tcp, udp, icmp (an echo request)
  PortRange ports;       // any of them is asked for
};

enum class Fate { kAccepted, kDropped, kRejected, kUncertain };

struct FirewallAnswer {
  Fate fate = Fate::kAccepted;
  std::string rule;  // that decides, or that cannot be judged: "inet filter input: policy drop"
  const FirewallChain* entry = nullptr;  // the chain with a hook on whose way that lies
};

// Every chain with a hook has its say: one that drops is final, one that accepts is not.
FirewallAnswer fate_of(const Firewall& firewall, const Packet& packet);

}  // namespace railbed
