// All GPUs of one node in a collective. One process opens CUDA and NCCL, and has a thread for each GPU.
#pragma once

#include "bench/collective/collective.h"
#include "nvidia/calls.h"
#include "os/process.h"

namespace railbed {

// Runs the collective; to be called only in a child process. Reports each CollectiveNews as one line through
// `tell`. A failure is reported in the same way and ends the run.
void run_collective(const CollectivePlan& plan, const NvidiaLibraries& from, const Tell& tell);

}  // namespace railbed
