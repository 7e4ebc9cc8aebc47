// Starts an agent on a node, and pushes it there if it is missing.
#pragma once

#include <stop_token>

#include "fleet/fleet_context.h"
#include "fleet/link.h"

namespace railbed::fleet {

// Returns a Link whose agent is ready. Each phase has its own deadline. `waker` must be woken when `stop` is
// requested. Makes up to three attempts while sshd is overloaded.
Result<Link> start_agent(const Target& target, FleetContext& context, const Waker& waker,
                         std::stop_token stop);

// Returns the error for a call that was stopped.
Error cancelled(const Target& target);

}  // namespace railbed::fleet
