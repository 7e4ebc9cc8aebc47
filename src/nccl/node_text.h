// The lint and the choices of a node, for people; nothing in them is obeyed by a terminal.
#pragma once

#include <string>
#include <vector>

#include "nccl/choice.h"
#include "nccl/lint.h"

namespace railbed::nccl {

std::string to_text(const std::vector<Complaint>& complaints);
std::string to_text(const Choices& choices);

}  // namespace railbed::nccl
