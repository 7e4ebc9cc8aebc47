// Chooses the GID that each end uses on an Ethernet rail. Both ends offer their GIDs and one place decides:
// ends that choose alone may pick GIDs of different types or subnets, a common failure.
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
  std::string type;    // in the kernel's words: "RoCE v2", "IB/RoCE v1"
  std::string netdev;  // the interface that it belongs to; empty if the kernel does not report it
  int prefix = -1;     // length of this address's prefix on that interface; -1 if the interface lacks it
  FIELDS(GidOffer, index, gid, type, netdev, prefix);
};

struct GidSide {
  std::string node;
  std::string interface;  // of the rail; VLANs and bonds on the same port have GIDs too
  std::vector<GidOffer> offers;
};

struct ChosenGids {
  GidOffer a;
  GidOffer b;
  std::string doubt;  // why even these, the best ones, may not work; empty if there is no doubt
};

// Returns the best pair of GIDs that can reach each other. The order of preference: not link-local, RoCE v2
// before v1, both in one subnet, IPv4 before IPv6, lowest index. Fails if there is no such pair; the error
// names the side without GIDs, or lists the GIDs of both.
Result<ChosenGids> choose_gids(const GidSide& a, const GidSide& b);

}  // namespace railbed
