// Discovery of every switch and HCA that a port reaches, by directed routes, with many requests in flight.
// Nodes may send false data: whatever they send costs at most the limits below, and every wait ends.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string_view>

#include "base/result.h"
#include "fabric/counters.h"
#include "fabric/subnet.h"
#include "host/umad.h"

namespace railbed {

struct DiscoveryLimits {
  std::size_t in_flight = 16;               // requests at once; switches queue few management packets
  int tries = 3;                            // attempts for each request
  std::chrono::milliseconds patience{300};  // timeout of each attempt
  std::chrono::seconds whole{120};          // timeout of a run of requests
  std::size_t nodes = kMostIbNodes;
  std::size_t ports = kMostIbPortsInAll;
  std::stop_token stop = {};  // ends a run early
};

// Discovers the subnet of the port that `door` has opened. Fails if that port itself does not respond, on
// timeout and on stop. Other nodes that do not respond are in IbFabric::silent.
Result<IbFabric> discover_fabric(MadDoor& door, const DiscoveryLimits& limits = {});

// Reads the error counters of every active cabled port: once, or twice with that many seconds between if
// `seconds` is positive. `wait` sleeps and returns false if it was interrupted; the call then fails with
// kCancelled.
using Sleep = std::function<bool(std::chrono::duration<double>)>;
Result<IbCounterLook> read_ib_counters(MadDoor& door, const IbFabric& fabric, double seconds,
                                       const Sleep& wait, const DiscoveryLimits& limits = {});

// Reads what every port has counted until now, once, in 64 bits where the port has them. Switch ports without
// a link are included, since the link may just have gone.
Result<IbCounterLook> read_ib_totals(MadDoor& door, const IbFabric& fabric,
                                     const DiscoveryLimits& limits = {});

// Reads state, priority and activity of the subnet's managers again. A manager that does not respond keeps
// its earlier values.
void ask_managers(MadDoor& door, IbFabric& fabric, const DiscoveryLimits& limits = {});

}  // namespace railbed
