// RDMA between two nodes that go on working: a few small reads, one after the other. Of a read the adapter at
// the other end does everything, so no processor there has to wait for it, and its completion is the answer:
// what is told is the whole way there and back. The request goes one way and the data the other, both in the
// traffic class that is named.
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
  std::string trouble = {};              // why some, or all, are missing
};

inline constexpr std::uint64_t kProbeReadBytes = 8;

// `here` answers own_rdma_handlers(), `there` answers served_rdma_handlers(). Ends within half a minute.
RdmaProbed probe_rdma(Peer& here, Peer& there, const RdmaProbe& probe, std::stop_token stop);

// What a node lets another have for that: a small session on these interfaces, two over the life of the
// handlers, and nothing that works by itself. The sessions end with the handlers.
Handlers served_rdma_handlers(std::shared_ptr<Host> host, std::set<std::string> interfaces);
Handlers own_rdma_handlers(std::shared_ptr<Host> host);

}  // namespace railbed
