// RDMA devices in software: `rdma link add` makes one on an Ethernet interface, and it is gone with the next
// boot.
#pragma once

#include <vector>

#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

void add_software_links(const Target& target, std::vector<Setting>& settings);

}  // namespace railbed
