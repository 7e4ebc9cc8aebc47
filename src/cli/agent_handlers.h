// What an agent can be asked: the methods of the rooms, put together.
#pragma once

#include "base/peer.h"

namespace railbed {

// hello → {"version", "architecture", "pid", "node"}: who answers. facts → facts/facts.h of this machine.
// bench.…: bench/handlers.h.
Handlers agent_handlers();

}  // namespace railbed
