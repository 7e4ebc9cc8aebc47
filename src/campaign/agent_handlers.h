// The agent's request handlers: the methods of all rooms in one table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>

#include "base/fields.h"
#include "base/peer.h"

namespace railbed {

struct ClockNow {
  std::int64_t nanoseconds = 0;  // since 1970, by CLOCK_REALTIME
  FIELDS(ClockNow, nanoseconds);
};

// Returns the handlers by method name:
// * hello → {"version", "architecture", "pid", "node"}: the identity of the agent.
// * facts → facts/facts.h of this machine.
// * clock → ClockNow.
// * bench.…: bench/engines/handlers.h.
// * launch.…: campaign/change/job_handlers.h.
// * job.record: campaign/look/jobs.h.
// * links.hear: campaign/look/cables.h.
Handlers agent_handlers();

// Serves these handlers on this process's standard input and output until the input ends or `stop`. Returns the number
// of handlers that still run because they ignored their stop token. If it is not 0, the process must end
// without cleanup (_exit).
std::size_t serve_agent(const std::stop_token& stop = {});

}  // namespace railbed
