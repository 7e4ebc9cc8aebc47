// An engine that rehearses training steps, with and without GPUs.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration train_engine();

}  // namespace railbed
