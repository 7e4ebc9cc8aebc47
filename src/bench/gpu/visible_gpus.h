// The GPUs of this machine as the CUDA driver shows them. In a child process only.
#pragma once

#include <vector>

#include "host/cuda_library.h"
#include "results/collective.h"

namespace railbed {

// Those of these numbers, or all of them; `cuda` is started. Numbers that no GPU has fail it.
std::vector<VisibleGpu> find_visible_gpus(cuda::Cuda& cuda, const std::vector<int>& ordinals);

// Of its first failure.
FailureKind failure_kind(const cuda::Cuda& cuda);

}  // namespace railbed
