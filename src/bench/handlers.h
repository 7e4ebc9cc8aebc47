// The engines as an agent offers them: methods "bench.…" with JSON both ways (bench/protocol.h).
#pragma once

#include "base/peer.h"

namespace railbed {

Handlers bench_handlers();

}  // namespace railbed
