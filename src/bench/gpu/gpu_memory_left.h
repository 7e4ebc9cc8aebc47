// What a GPU and its machine have left: asked in the child that will take of it, just before it does.
#pragma once

#include "bench/core/spare_memory.h"
#include "host/cuda_library.h"

namespace railbed {

// Of the GPU whose context the thread has. After a failure of CUDA's, the host's part alone.
MemoryLeft gpu_memory_left(cuda::Cuda& cuda);

}  // namespace railbed
