// All GPUs of one node in a collective: the process that opens CUDA and NCCL, with a thread for each GPU.
#pragma once

#include "bench/collective/collective.h"
#include "host/calls.h"
#include "host/process.h"

namespace railbed {

// To be run in a child. Tells CollectiveNews, a line each; a failure is told as well and ends it.
void run_collective(const CollectivePlan& plan, const NvidiaLibraries& from, const Tell& tell);

}  // namespace railbed
