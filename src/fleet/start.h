// Gets an agent running on a node, pushing it there where it is missing.
#pragma once

#include <stop_token>

#include "fleet/fleet_context.h"
#include "fleet/link.h"

namespace railbed::fleet {

// A Link whose agent has said that it is ready. Every phase ends at its deadline; `waker` must be woken when
// `stop` is requested.
Result<Link> start_agent(const Target& target, FleetContext& context, const Waker& waker,
                         std::stop_token stop);

Error cancelled(const Target& target);

}  // namespace railbed::fleet
