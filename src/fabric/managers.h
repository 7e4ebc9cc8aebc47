// The subnet's managers, looked at twice, and how the one on this host routes.
#pragma once

#include <string>
#include <vector>

#include "base/reading.h"
#include "fabric/layout.h"
#include "fabric/subnet.h"
#include "host/host.h"

namespace railbed {

// A manager's activity counter, at the first look and some seconds later.
struct ManagerSeen {
  IbManager manager;  // as it was at the second look
  std::uint32_t before = 0;
  std::string node;
  bool moves() const { return manager.activity != before; }
};

struct ManagerLook {
  std::vector<ManagerSeen> managers;  // the master first
  double seconds = 0;
  std::string shape;  // of the subnet, in words
  RoutingAdvice advice;
  Reading<std::string> routing;  // routing_engine in OpenSM's configuration on this host
  bool routes_as_advised() const;
  // Of railbed: 0, or 1 and 2 by the same rules as `railbed fabric verify`.
  int exit_code() const;
};

// "ftree,updn"; absent where no configuration of OpenSM is here, or it does not say.
Reading<std::string> configured_routing(Host& host);

ManagerLook look_at_managers(const IbFabric& before, const IbFabric& after, double seconds);

}  // namespace railbed
