// IP over InfiniBand: the part of cluster.yaml's request that an end supports.
#pragma once

#include <optional>
#include <string>

#include "settings/target.h"

namespace railbed {

struct IpoibWish {
  std::optional<std::string> mode = {};  // "datagram" or "connected"; nullopt: leave it
  std::optional<int> mtu = {};           // nullopt: leave it
};

// The MTU of an InfiniBand multicast group until the subnet manager is configured for more, and its maximum,
// less IPoIB's header of 4 bytes (RFC 4391).
inline constexpr int kGroupMtu = 2044;
inline constexpr int kLargestDatagram = 4092;
inline constexpr int kLargestConnected = 65520;  // RFC 4755

// Returns nullopt if the end is not InfiniBand or has no address. An MTU that needs connected mode is lowered
// if the adapter does not support that mode.
std::optional<IpoibWish> ipoib_of(const RailEnd& end);

}  // namespace railbed
