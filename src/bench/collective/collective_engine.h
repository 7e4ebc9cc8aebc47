// An engine that measures NCCL's collectives.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration collective_engine();

}  // namespace railbed
