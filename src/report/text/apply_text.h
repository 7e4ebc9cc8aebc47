// Texts for people: the outcome of an apply or a reboot, and the history of applies.
#pragma once

#include <string>
#include <vector>

#include "apply/outcome.h"

namespace railbed {

// Returns the outcome: what was done or why nothing was, each node's state, and, after a success, the command
// that rolls back. Text from nodes is made printable.
std::string apply_text(const ApplyOutcome& outcome);
// Returns a line for each node; those that were left alone because an earlier one was not well share one.
std::string reboot_text(const RebootOutcome& outcome);
// Returns the applies of all nodes, the latest first, equal ones together.
std::string history_text(const std::vector<NodeHistory>& histories);

}  // namespace railbed
