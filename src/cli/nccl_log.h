// A NCCL log, explained: what `railbed nccl --log` and `railbed explain --nccl-log` share.
#pragma once

#include <string>

namespace railbed {

// Reads the file, or standard input for "-", prints the explanation (JSON on request), returns the exit code:
// 0 all is well, 1 warnings, 2 something failed, 3 there is no line of NCCL in it.
int explain_nccl_log(const std::string& path, bool json);

}  // namespace railbed
