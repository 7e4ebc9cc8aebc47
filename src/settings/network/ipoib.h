// IP over InfiniBand: the part of cluster.yaml's request that an end supports.
#pragma once

#include <optional>
#include <string>

#include "model/link_remedy.h"
#include "settings/target.h"

namespace railbed {

struct IpoibWish {
  std::optional<std::string> mode = {};  // "datagram" or "connected"; nullopt: leave it
  std::optional<int> mtu = {};           // nullopt: leave it
};

// Returns nullopt if the end is not InfiniBand or has no address. An MTU that needs connected mode is lowered
// if the adapter is known not to have that mode, by facts or by the parts of cluster.yaml.
std::optional<IpoibWish> ipoib_of(const RailEnd& end, const Cluster& cluster);

}  // namespace railbed
