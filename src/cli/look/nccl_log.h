// Explanation of a NCCL log, for `railbed nccl --log` and `railbed explain --nccl-log`.
#pragma once

#include <string>

#include "base/document.h"
#include "diagnose/log/job_log.h"

namespace railbed {

inline constexpr Document<diagnose::Log> kLogDocument{"railbed-nccl-log"};

// Returns the exit code for a log: 0 all is well, 1 warnings, 2 something failed, 3 no line of NCCL and no symptom is
// in it.
int log_exit_code(const diagnose::Log& log);

// Reads the file, or standard input for "-", prints the explanation (JSON on request) and returns its exit
// code.
int explain_nccl_log(const std::string& path, bool json);

}  // namespace railbed
