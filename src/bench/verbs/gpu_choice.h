// Chooses the GPU whose memory an end of an RDMA measurement uses.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed {

struct Facts;

// Returns the PCI address of the GPU that is closest to the adapter of this interface; empty if there is no
// GPU.
std::string nearest_gpu(const Facts& facts, std::string_view interface);

// Returns the PCI address of the GPU that `memory` names. "gpu": the closest to the interface; "gpu:1": by
// PCI order from 0; "gpu:0000:1b:00.0": this one, even if the facts do not contain it. Fails if there is
// none.
Result<std::string> choose_gpu(const Facts& facts, std::string_view interface, std::string_view memory);

// Returns whether the text is one of these forms, or "host".
bool is_memory(std::string_view text);

}  // namespace railbed
