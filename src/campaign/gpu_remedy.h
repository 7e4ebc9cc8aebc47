// What to do when something of CUDA's, cuBLAS's or NCCL's failed.
#pragma once

#include <string>
#include <string_view>

#include "nccl/log.h"
#include "results/measurement.h"

namespace railbed {

// `when_memory_is_short`: what this command can ask less of.
std::string gpu_remedy(const Failure& failure, const nccl::Log& log, std::string_view when_memory_is_short);

}  // namespace railbed
