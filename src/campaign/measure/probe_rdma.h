// Probes RDMA between two nodes in operation with a few small reads, one after the other. The adapter at the
// other end serves an RDMA read without its processor, and the completion of the read is the reply, so the
// measured time is the full round trip. The request travels one way and the data the other, both in the given
// traffic class.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/peer.h"
#include "host/host.h"

namespace railbed {

struct RdmaProbe {
  std::string interface_here;
  std::string interface_there;
  int traffic_class = 0;  // the ToS byte
  std::uint64_t reads = 0;
};

struct RdmaProbed {
  std::uint64_t sent = 0;
  std::vector<double> round_trips = {};  // seconds
  std::string trouble = {};              // why some or all reads are missing
};

inline constexpr std::uint64_t kProbeReadBytes = 8;

// Runs the probe. `here` must serve own_rdma_handlers() and `there` served_rdma_handlers(). Ends within half
// a minute.
RdmaProbed probe_rdma(Peer& here, Peer& there, const RdmaProbe& probe, std::stop_token stop);

// Returns the handlers that a node offers to others for a probe: small sessions on these interfaces, at most
// two over the lifetime of the handlers, and no method that sends by itself. The sessions end with the
// handlers.
Handlers served_rdma_handlers(std::shared_ptr<Host> host, std::set<std::string> interfaces);
// Returns all RDMA handlers, for the node that sends the probe.
Handlers own_rdma_handlers(std::shared_ptr<Host> host);

}  // namespace railbed
