// Discovery: every switch and HCA that a port reaches, by directed routes, with many questions on their way
// at once. What answers may lie: whatever it says costs at most the limits below, and every wait ends.
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
  std::size_t in_flight = 16;               // switches keep few packets of management
  int tries = 3;                            // of each question
  std::chrono::milliseconds patience{300};  // with each of them
  std::chrono::seconds whole{120};          // for all of it
  std::size_t nodes = kMostIbNodes;
  std::size_t ports = kMostIbPortsInAll;
  std::stop_token stop = {};
};

Result<IbFabric> discover_fabric(MadDoor& door, const DiscoveryLimits& limits = {});

// The error counters of every cabled port, once, or twice so many seconds apart. `wait` sleeps; it answers
// false when it was interrupted.
using Sleep = std::function<bool(std::chrono::duration<double>)>;
Result<IbCounterLook> read_ib_counters(MadDoor& door, const IbFabric& fabric, double seconds,
                                       const Sleep& wait, const DiscoveryLimits& limits = {});

// What every port has counted until now, once, in 64 bits where it has them; of switches also ports that have
// no link, since it may just have gone.
Result<IbCounterLook> read_ib_totals(MadDoor& door, const IbFabric& fabric,
                                     const DiscoveryLimits& limits = {});

// Asks the subnet's managers again.
void ask_managers(MadDoor& door, IbFabric& fabric, const DiscoveryLimits& limits = {});

}  // namespace railbed
