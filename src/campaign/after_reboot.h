// What `railbed verify --after-reboot` asks of nodes beside their facts: whether they have started anew since
// railbed changed them, and whether anything is left to change.
#pragma once

#include <string>

#include "campaign/caller.h"
#include "campaign/gather.h"
#include "campaign/reach.h"

namespace railbed {

// Of all nodes of the evidence's cluster. Asks as root: nobody else may read what an apply left.
Result<void> add_after_reboot(const std::string& cluster_file, ReachOptions reach, const Caller& caller,
                              Evidence& evidence);

}  // namespace railbed
