// The checks that `railbed verify --after-reboot` adds to nodes' facts: whether a node has rebooted since
// railbed last changed it, and which of its settings are not in effect.
#pragma once

#include <string>

#include "campaign/caller.h"
#include "campaign/look/gather.h"
#include "campaign/reach.h"

namespace railbed {

// Fills `evidence.after_reboot` for every node of the evidence's cluster: its last committed apply, whether
// that apply happened in the current boot, and the changes that a plan would still make. Connects as root,
// since only root can read the records of applies. A node that cannot be read or planned gets an error in its
// entry; the function fails only if there is no plan at all.
Result<void> add_after_reboot(const std::string& cluster_file, ReachOptions reach, const Caller& caller,
                              Evidence& evidence);

}  // namespace railbed
