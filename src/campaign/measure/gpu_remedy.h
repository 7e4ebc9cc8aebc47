// Remedies for failures of CUDA, cuBLAS and NCCL.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/log/job_log.h"
#include "results/measurement.h"

namespace railbed {

// Returns what the user should do next. `when_memory_is_short` is the advice for a GPU that is out of memory:
// which option of this command needs less. `nccl_option` names NCCL's file.
std::string gpu_remedy(const Failure& failure, const diagnose::Log& log,
                       std::string_view when_memory_is_short, std::string_view nccl_option = "--library");

}  // namespace railbed
