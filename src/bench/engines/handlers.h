// The engines as an agent offers them: methods "bench.…" with JSON both ways
// (docs/reference/agent-protocol.md).
#pragma once

#include <memory>

#include "bench/core/agent_side.h"

namespace railbed {

// All of them, for this machine.
Handlers bench_handlers(std::shared_ptr<Host> host, StartPeer start = {});
// Those of engines that run on GPUs, for a process that knows nothing of its machine. CUDA is opened from
// `from`.
Handlers gpu_handlers(const NvidiaLibraries& from);

}  // namespace railbed
