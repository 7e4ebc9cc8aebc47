// The agent's side of the TCP engines: the methods of tcp/protocol.h.
#pragma once

#include "bench/core/agent_side.h"

namespace railbed {

Handlers tcp_handlers(AgentSide& side);

}  // namespace railbed
