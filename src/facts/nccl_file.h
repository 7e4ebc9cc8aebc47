// NCCL's own configuration files, wherever they lie.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/nccl.h"

namespace railbed {

// NAME=value to the letter, as NCCL takes it; `path` stands before the line's number.
std::vector<NcclVariable> parse_nccl_file(std::string_view text, const std::string& path);

}  // namespace railbed
