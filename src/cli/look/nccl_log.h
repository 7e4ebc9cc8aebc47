// Explanation of a NCCL log, for `railbed nccl --log` and `railbed explain --nccl-log`.
#pragma once

#include <string>

namespace railbed {

// Reads the file, or standard input for "-", prints the explanation (JSON on request) and returns the exit
// code: 0 all is well, 1 warnings, 2 something failed, 3 no line of NCCL is in it.
int explain_nccl_log(const std::string& path, bool json);

}  // namespace railbed
