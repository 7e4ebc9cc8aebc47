// The parser of NCCL's own configuration files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/software/nccl.h"

namespace railbed {

// Parses lines of NAME=value literally, as NCCL does. `path` and the line's number become NcclVariable::from.
// Returns nothing if there are more than 1024 variables.
std::vector<NcclVariable> parse_nccl_file(std::string_view text, const std::string& path);

}  // namespace railbed
