// An engine that measures bandwidth and latency of TCP between two nodes.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration tcp_engine();

}  // namespace railbed
