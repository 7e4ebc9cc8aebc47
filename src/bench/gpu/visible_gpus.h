// The GPUs of this machine as the CUDA driver shows them. To be used only in a child process.
#pragma once

#include <vector>

#include "nvidia/cuda_library.h"
#include "results/collective.h"

namespace railbed {

// Returns the GPUs with these ordinals, or all if there are none. `cuda` must be started. An ordinal that no
// GPU has sets the error of `cuda`.
std::vector<VisibleGpu> find_visible_gpus(cuda::Cuda& cuda, const std::vector<int>& ordinals);

// Returns the kind of the first failure of `cuda`.
FailureKind failure_kind(const cuda::Cuda& cuda);

}  // namespace railbed
