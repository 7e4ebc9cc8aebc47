// An engine that measures the copy engines of a node's GPUs.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration gpu_engine();

}  // namespace railbed
