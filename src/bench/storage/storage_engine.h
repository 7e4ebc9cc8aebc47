// An engine that measures drives and file servers.
#pragma once

#include "bench/core/engine.h"

namespace railbed {

EngineRegistration storage_engine();

}  // namespace railbed
