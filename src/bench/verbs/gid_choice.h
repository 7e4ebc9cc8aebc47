// Which GID each end uses on an Ethernet rail. Both ends offer what they have and one place decides: ends
// that choose alone pick GIDs of different types or subnets, the classic failure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "base/result.h"

namespace railbed {

// An entry of a port's GID table.
struct GidOffer {
  int index = 0;
  IpAddress gid;
  std::string type;    // as the kernel words it: "RoCE v2", "IB/RoCE v1"
  std::string netdev;  // the interface it belongs to; empty when the kernel does not say
  int prefix = -1;     // of this address on that interface; -1 when the interface does not have it
  FIELDS(GidOffer, index, gid, type, netdev, prefix);
};

struct GidSide {
  std::string node;
  std::string interface;  // of the rail: VLANs and bonds on the same port have GIDs too
  std::vector<GidOffer> offers;
};

struct ChosenGids {
  GidOffer a;
  GidOffer b;
  std::string doubt;  // why they may not work though they are the best there are; empty when there is none
};

// RoCE v2 before v1; one subnet before others; IPv4 before IPv6; link-local only where there is nothing else.
// The error says which side lacks what.
Result<ChosenGids> choose_gids(const GidSide& a, const GidSide& b);

}  // namespace railbed
