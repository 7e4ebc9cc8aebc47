// IP over InfiniBand: what an end can have of what cluster.yaml asks for.
#pragma once

#include <optional>
#include <string>

#include "settings/target.h"

namespace railbed {

struct IpoibWish {
  std::optional<std::string> mode = {};  // "datagram" or "connected"; none: as it is
  std::optional<int> mtu = {};           // none: as it is
};

// What an InfiniBand multicast group carries until the subnet manager is told more, and at most, less IPoIB's
// header of 4 bytes (RFC 4391).
inline constexpr int kGroupMtu = 2044;
inline constexpr int kLargestDatagram = 4092;
inline constexpr int kLargestConnected = 65520;  // RFC 4755

// None: the end is not InfiniBand, or has no address. An MTU that only connected mode carries is lowered
// where the adapter has no such mode.
std::optional<IpoibWish> ipoib_of(const RailEnd& end);

}  // namespace railbed
