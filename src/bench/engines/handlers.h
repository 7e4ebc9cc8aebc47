// The engines as an agent offers them: methods "bench.…" with JSON both ways
// (docs/reference/agent-protocol.md).
#pragma once

#include <memory>

#include "bench/core/agent_side.h"

namespace railbed {

// Makes the handlers of all engines, and those that all engines share, for this machine.
Handlers bench_handlers(std::shared_ptr<Host> host, StartPeer start = {});
// Makes the handlers of the engines that run on GPUs, for a process without a Host. CUDA is opened from the
// libraries `from`.
Handlers gpu_handlers(const NvidiaLibraries& from);

}  // namespace railbed
