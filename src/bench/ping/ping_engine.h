// ICMP echo between two nodes, as an engine: what `ping` shows. The other end's kernel answers by itself.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration ping_engine();

}  // namespace railbed
