// A subnet as schedulers see it (model/schedule_tree.h).
#pragma once

#include <string>
#include <vector>

#include "fabric/subnet.h"
#include "model/schedule_tree.h"

namespace railbed {

// Returns hosts and switches. A host is the first word of its HCAs' descriptions, without a domain unless `hosts`
// names it with one. If `hosts` is not empty, only these are taken; those that are not in the subnet, and hosts
// that are left out, are noted.
Wiring wiring_of(const IbFabric& fabric, const std::vector<std::string>& hosts = {});

}  // namespace railbed
