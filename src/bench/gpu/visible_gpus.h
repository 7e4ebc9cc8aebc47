// The GPUs of this machine as the CUDA driver shows them.
#pragma once

#include <vector>

#include "base/result.h"
#include "nvidia/calls.h"
#include "nvidia/cuda_library.h"
#include "results/collective.h"

namespace railbed {

// Returns the GPUs with these ordinals, or all if there are none. `cuda` must be started. An ordinal that no
// GPU has sets the error of `cuda`. To be used only in a child process.
std::vector<VisibleGpu> find_visible_gpus(cuda::Cuda& cuda, const std::vector<int>& ordinals);

// Returns the same from a child process. Fails if CUDA cannot be used, shows no GPU, or not one of these.
Result<VisibleGpus> visible_gpus_here(const NvidiaLibraries& from, const std::vector<int>& ordinals = {});

// Returns the kind of the first failure of `cuda`.
FailureKind failure_kind(const cuda::Cuda& cuda);

}  // namespace railbed
