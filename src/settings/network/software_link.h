// RDMA devices in software: `rdma link add` creates one on an Ethernet interface, and a reboot removes it.
#pragma once

#include <vector>

#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

// Adds a setting for each software driver (rxe, siw) that rails of this node use.
void add_software_links(const Target& target, std::vector<Setting>& settings);

}  // namespace railbed
