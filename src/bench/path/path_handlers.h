// The agent's side of path.h: the only part of the diagnosis that examines the node.
#pragma once

#include "bench/core/agent_side.h"

namespace railbed {

Handlers path_handlers(AgentSide& side);

}  // namespace railbed
