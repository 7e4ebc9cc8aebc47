// Gets an agent running on a node, pushing it there where it is missing.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "fleet/agent_binary.h"
#include "fleet/fleet.h"
#include "fleet/link.h"

namespace railbed::fleet {

// A Link whose agent has said that it is ready. Every phase ends at its deadline; `waker` must be woken when
// `stop` is requested.
Result<Link> start_agent(const Target& target, const FleetOptions& options, AgentBinaries& binaries,
                         const Waker& waker, std::stop_token stop);

// The whole ssh command line.
std::vector<std::string> ssh_words(const Target& target, const FleetOptions& options,
                                   const std::string& command);

Error cancelled(const Target& target);

}  // namespace railbed::fleet
