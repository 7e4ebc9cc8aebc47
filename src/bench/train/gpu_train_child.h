// All GPUs of one node in a rehearsal of training. One process opens CUDA, cuBLAS and NCCL, and has a thread
// for each GPU.
#pragma once

#include "bench/train/gpu_train.h"
#include "nvidia/calls.h"
#include "os/process.h"

namespace railbed {

// Runs the rehearsal; to be called only in a child process. Reports each GpuTrainNews as one line through
// `tell`. A failure is reported in the same way and ends the run.
void run_gpu_train(const GpuTrainPlan& plan, const NvidiaLibraries& from, const Tell& tell);

}  // namespace railbed
