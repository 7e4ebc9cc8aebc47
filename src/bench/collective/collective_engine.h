// NCCL's collectives, as an engine.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration collective_engine();

}  // namespace railbed
