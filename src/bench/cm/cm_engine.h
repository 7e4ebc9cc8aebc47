// The RDMA connection manager between two nodes, as an engine: what rping does, natively. The latency of a
// message that is echoed, and above all whether a connection comes about.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration cm_engine();

}  // namespace railbed
