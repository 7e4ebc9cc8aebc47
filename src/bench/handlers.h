// The engines as an agent offers them: methods "bench.…" with JSON both ways (bench/protocol.h,
// bench/rdma.h).
#pragma once

#include <memory>

#include "base/peer.h"
#include "host/calls.h"
#include "host/host.h"

namespace railbed {

Handlers tcp_handlers();
// `host` tells of the adapters: which one carries a rail, its GIDs and counters.
Handlers rdma_handlers(std::shared_ptr<Host> host);
// Training steps, rehearsed (bench/train.h).
Handlers train_handlers();
// Storage, by fio (bench/storage.h).
Handlers storage_handlers(std::shared_ptr<Host> host);
// The state of an interface, asked for after a failure.
Handlers link_handlers(std::shared_ptr<Host> host);
// Copies, collectives and training steps of GPUs, each in a child process with a session of its own
// (bench/gpu_copy.h, bench/measure_collective.h, bench/gpu_train.h, bench/child_session.h).
Handlers gpu_handlers(const NvidiaLibraries& from);
// All of them, for this machine.
Handlers bench_handlers(std::shared_ptr<Host> host);

}  // namespace railbed
