// An engine that measures bandwidth and latency of RDMA between two nodes.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration rdma_engine();
// The agent's side. Declared here for tests, which pass their own process for GPU memory in `side`.
Handlers rdma_handlers(AgentSide& side);

}  // namespace railbed
