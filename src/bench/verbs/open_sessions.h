// The RDMA sessions that an agent keeps open between requests. All engines that use RDMA share this table.
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
  // If the session is open in a process of its own: that process, and the session's name there. Then `engine`
  // is null.
  std::shared_ptr<Peer> child_process;
  std::string name_in_child;
  std::string device;
  int port = 1;
};
using RdmaSessions = Sessions<OpenRdma>;

}  // namespace railbed
