// The free memory of a GPU and of its machine. The child that takes memory reads it just before it does.
#pragma once

#include "bench/core/spare_memory.h"
#include "nvidia/cuda_library.h"

namespace railbed {

// Reads the memory of the GPU whose context the calling thread has, and the host's. If CUDA fails, only the
// host's part is set.
MemoryLeft gpu_memory_left(cuda::Cuda& cuda);

}  // namespace railbed
