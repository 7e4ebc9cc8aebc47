// Burn-in of a node's GPUs, as an engine: it measures no pairs.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration burn_engine();

}  // namespace railbed
