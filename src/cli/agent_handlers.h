// What an agent can be asked: the methods of the rooms, put together.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/peer.h"

namespace railbed {

struct ClockNow {
  std::int64_t nanoseconds = 0;  // since 1970, by CLOCK_REALTIME
  static constexpr auto fields() { return std::tuple{field("nanoseconds", &ClockNow::nanoseconds)}; }
};

// hello → {"version", "architecture", "pid", "node"}: who answers. facts → facts/facts.h of this machine.
// clock → ClockNow. bench.…: bench/handlers.h.
Handlers agent_handlers();

}  // namespace railbed
