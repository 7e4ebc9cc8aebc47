// RDMA between two nodes, as an engine.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration rdma_engine();
// Tests give it a process for GPU memory of their own.
Handlers rdma_handlers(AgentSide& side);

}  // namespace railbed
