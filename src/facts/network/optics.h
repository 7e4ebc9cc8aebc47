// The diagnostics of a transceiver or cable, and the error correction of its port. Modules are read over a slow bus,
// which takes a tenth of a second each.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "facts/network/load.h"
#include "facts/network/net.h"
#include "facts/network/rdma.h"

namespace railbed {

// Reads the interface's module: `ethtool -m NAME`. Denied for users who may not; unsupported if the program
// fails for another reason, such as a port without a module.
Reading<Optics> read_optics(Host& host, const std::string& interface);

// One reading of a link; nullopt for what could not be read, as by a user who may not or without a module.
struct LinkReading {
  std::optional<Optics> optics = {};
  std::optional<FecState> fec = {};
  FIELDS(LinkReading, optics, fec);
};
using LinkReadings = std::map<std::string, LinkReading>;  // by interface

// Returns the interfaces on PCI that carry RDMA.
std::vector<std::string> rdma_interfaces(const Rdma& rdma, const Net& net);
// Reads these interfaces in parallel, at most 64 of them; each takes at most five seconds.
LinkReadings read_links(Host& host, const std::vector<std::string>& interfaces);

}  // namespace railbed
