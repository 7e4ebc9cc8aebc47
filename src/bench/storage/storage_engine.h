// Drives and file servers, as an engine.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration storage_engine();

}  // namespace railbed
