// Texts for people about a node's lint and choices. Control characters are removed.
#pragma once

#include <string>
#include <vector>

#include "nccl/choice.h"
#include "nccl/lint.h"

namespace railbed::nccl {

std::string to_text(const std::vector<Complaint>& complaints);
std::string to_text(const Choices& choices);

}  // namespace railbed::nccl
