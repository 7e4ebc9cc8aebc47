// What an agent can be asked: the methods of the rooms, put together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fields.h"
#include "base/peer.h"

namespace railbed {

struct ClockNow {
  std::int64_t nanoseconds = 0;  // since 1970, by CLOCK_REALTIME
  FIELDS(ClockNow, nanoseconds);
};

// hello → {"version", "architecture", "pid", "node"}: who answers. facts → facts/facts.h of this machine.
// clock → ClockNow. bench.…: bench/engines/handlers.h. launch.…: campaign/job_handlers.h.
Handlers agent_handlers();

// Answers them on this process's standard input and output until the input ends. Answers how many handlers
// did not heed their stop and still run: the process must then end without clearing up (_exit).
std::size_t serve_agent();

}  // namespace railbed
