// Training steps, rehearsed with and without GPUs, as an engine.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration train_engine();

}  // namespace railbed
