// The checks of the rail's RDMA device that a program depends on: device node, provider, GID.
#pragma once

#include <optional>
#include <string>

#include "base/ip.h"
#include "bench/path/path.h"
#include "facts/network/net.h"
#include "host/host.h"

namespace railbed {

// Reads the state of the RDMA device that belongs to the interface; all members are empty if there is none.
// Returns within some seconds, because libibverbs runs in a child of its own (host/calls.h).
PathRdma look_at_rdma(Host& host, const Net& net, const std::string& interface,
                      const std::optional<IpAddress>& address);

// Reads the state of what RDMA-CM needs to connect over the interface.
PathCm look_at_cm(Host& host, const Net& net, const std::string& interface);

}  // namespace railbed
