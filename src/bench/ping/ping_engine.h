// An engine that measures the latency of ICMP echo between two nodes, as `ping` does. The other end's kernel
// replies; no agent is needed there.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration ping_engine();

}  // namespace railbed
