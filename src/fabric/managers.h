// The subnet's managers, read twice, and the routing that OpenSM on this host is configured for.
#pragma once

#include <string>
#include <vector>

#include "base/reading.h"
#include "fabric/layout.h"
#include "fabric/subnet.h"
#include "host/host.h"

namespace railbed {

// A manager, and its activity counter some seconds earlier.
struct ManagerSeen {
  IbManager manager;  // at the second reading
  std::uint32_t before = 0;
  std::string node;
  // True if its activity counter changed, so that it works.
  bool moves() const { return manager.activity != before; }
};

struct ManagerLook {
  std::vector<ManagerSeen> managers;  // the master first
  std::vector<std::string> mute;      // places of ports with IsSM whose manager does not answer
  double seconds = 0;
  std::string shape;  // of the subnet, in words
  RoutingAdvice advice;
  Reading<std::string> routing;  // routing_engine in OpenSM's configuration on this host
  // True if the first configured engine is one of the advised; minhop if none is configured.
  bool routes_as_advised() const;
  // Returns the exit code of railbed: 0, or 1 and 2 by the same rules as `railbed fabric verify`.
  int exit_code() const;
};

// Returns OpenSM's routing_engine, "ftree,updn"; absent if this host has no configuration of OpenSM, or if
// that names no engine.
Reading<std::string> configured_routing(Host& host);

// Combines two readings of a subnet. `after` must have the managers of `before`, in the same order.
ManagerLook look_at_managers(const IbFabric& before, const IbFabric& after, double seconds);

}  // namespace railbed
