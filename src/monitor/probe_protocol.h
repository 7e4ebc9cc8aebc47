// What two monitors say to each other: frames (fleet/frame.h) over a connection that came in by a secret
// (fleet/secret_door.h). Who asks sends "probe.begin" first; unless the other wants to be left alone, it
// answers the rest: "probe.echo" gives back what it is given, "probe.counts" tells of the rail's priorities,
// and of "bench.rdma.…" what campaign/probe_rdma.h serves.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "base/ip.h"
#include "base/json.h"
#include "base/peer.h"
#include "fleet/secret_door.h"
#include "monitor/priority_counts.h"
#include "monitor/probe.h"

namespace railbed {

inline constexpr std::string_view kProbeBegin = "probe.begin";  // {} → ProbePause; without a reason: go on
inline constexpr std::string_view kProbeEcho = "probe.echo";    // anything → the same
inline constexpr std::string_view kProbeCounts = "probe.counts";  // {} → PriorityCounts
inline constexpr std::string_view kProbePurpose = "railbed monitor --probe";
inline constexpr std::size_t kMostEchoed = 1024;

// Keeps a socket's packets on the rail's own interface, where this process may say so (since Linux 5.7
// everybody may): an address alone leaves the way to the routing table.
inline void keep_on_rail(int fd, const std::string& interface) {
  (void)setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface.c_str(),
                   static_cast<socklen_t>(interface.size()));
}

}  // namespace railbed
