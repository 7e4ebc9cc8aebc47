// Texts for people: the outcome of an apply or a reboot, and the history of applies.
#pragma once

#include <string>
#include <vector>

#include "apply/outcome.h"

namespace railbed {

std::string apply_text(const ApplyOutcome& outcome);
std::string reboot_text(const RebootOutcome& outcome);
std::string history_text(const std::vector<NodeHistory>& histories);

}  // namespace railbed
