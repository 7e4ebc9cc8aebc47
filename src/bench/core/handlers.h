// The engines as an agent offers them: methods "bench.…" with JSON both ways (bench/protocol.h,
// bench/rdma.h).
#pragma once

#include <functional>
#include <memory>

#include "base/peer.h"
#include "host/calls.h"
#include "host/host.h"

namespace railbed {

Handlers tcp_handlers();
// An agent in a process of its own, for what may hang or take its process along. Ends with the last
// reference.
using StartPeer = std::function<std::shared_ptr<Peer>()>;
// `host` tells of the adapters: which one carries a rail, its GIDs and counters. Sessions in GPU memory are
// opened in such a process, where `start` is there; CUDA is opened from `from`.
Handlers rdma_handlers(std::shared_ptr<Host> host, const NvidiaLibraries& from, StartPeer start = {});
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
Handlers bench_handlers(std::shared_ptr<Host> host, StartPeer start = {});

}  // namespace railbed
