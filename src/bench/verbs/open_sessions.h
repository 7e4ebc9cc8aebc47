// The RDMA sessions that an agent keeps open between requests. Whoever measures over them finds them here.
#pragma once

#include <memory>
#include <string>

#include "base/peer.h"
#include "bench/core/sessions.h"
#include "bench/verbs/rdma_session.h"

namespace railbed {

// A session and the port that it uses.
struct OpenRdma {
  std::shared_ptr<RdmaSession> engine;
  // Where it is open in a process of its own: that process, and the session's name there.
  std::shared_ptr<Peer> child_process;
  std::string name_in_child;
  std::string device;
  int port = 1;
};
using RdmaSessions = Sessions<OpenRdma>;

}  // namespace railbed
