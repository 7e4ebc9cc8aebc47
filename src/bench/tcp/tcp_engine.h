// TCP between two nodes, as an engine.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration tcp_engine();

}  // namespace railbed
