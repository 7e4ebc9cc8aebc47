// The copy engines of a node's GPUs, as an engine.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration gpu_engine();

}  // namespace railbed
