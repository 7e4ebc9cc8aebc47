// Which GPU's memory an end of an RDMA measurement uses.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

struct Facts;

// PCI address of the GPU that is closest to the adapter of this interface; empty where there is none.
std::string nearest_gpu(const Facts& facts, std::string_view interface);

// "gpu": the closest to the interface; "gpu:1": by PCI order from 0; "gpu:0000:1b:00.0": that one, known to
// the facts or not. The PCI address, or why there is none.
Result<std::string> choose_gpu(const Facts& facts, std::string_view interface, std::string_view memory);

// Whether it is one of these forms, or "host".
bool is_memory(std::string_view text);

}  // namespace railbed
