// All GPUs of one node in a rehearsal of training: the process that opens CUDA, cuBLAS and NCCL, with a
// thread for each GPU.
#pragma once

#include "bench/train/gpu_train.h"
#include "host/calls.h"
#include "host/process.h"

namespace railbed {

// To be run in a child. Tells GpuTrainNews, a line each; a failure is told as well and ends it.
void run_gpu_train(const GpuTrainPlan& plan, const NvidiaLibraries& from, const Tell& tell);

}  // namespace railbed
