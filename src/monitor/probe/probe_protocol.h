// The protocol between two monitors: frames (fleet/frame.h) over a connection that was opened with a secret
// (fleet/secret_door.h). The client sends "probe.begin" first. If the response has no reason for a pause, the
// server then serves the other requests: "probe.echo" returns its input, "probe.counts" returns the packets
// by priority of the rail, and "bench.rdma.…" is served by campaign/measure/probe_rdma.h.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "base/ip.h"
#include "base/json.h"
#include "base/peer.h"
#include "fleet/secret_door.h"
#include "monitor/metrics/priority_counts.h"
#include "monitor/probe/probe.h"

namespace railbed {

// {} → ProbePause; an empty reason means: go on
inline constexpr std::string_view kProbeBegin = "probe.begin";
inline constexpr std::string_view kProbeEcho = "probe.echo";      // anything → the same
inline constexpr std::string_view kProbeCounts = "probe.counts";  // {} → PriorityCounts
inline constexpr std::string_view kProbePurpose = "railbed monitor --probe";
inline constexpr std::size_t kMostEchoed = 1024;

// Binds a socket to the rail's own interface, if this process is permitted to (since Linux 5.7, every process
// is). An address alone would leave the route to the routing table. Failure is ignored.
inline void keep_on_rail(int fd, const std::string& interface) {
  (void)setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface.c_str(),
                   static_cast<socklen_t>(interface.size()));
}

}  // namespace railbed
