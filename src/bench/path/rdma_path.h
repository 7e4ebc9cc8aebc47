// The rail's RDMA device as a program meets it: node, provider, GID.
#pragma once

#include <optional>
#include <string>

#include "base/ip.h"
#include "bench/path/path.h"
#include "facts/net.h"
#include "host/host.h"

namespace railbed {

// Within some seconds: libibverbs is asked in a child of its own (host/calls.h).
PathRdma look_at_rdma(Host& host, const Net& net, const std::string& interface,
                      const std::optional<IpAddress>& address);

}  // namespace railbed
