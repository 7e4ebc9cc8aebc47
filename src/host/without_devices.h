// A Host that hides some devices of a machine: none of their files is opened and no library is called for
// them. For functions that log an error whenever they are read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/host.h"

namespace railbed {

// `devices`: names in /sys/class/infiniband and /sys/class/net.
std::unique_ptr<Host> without_devices(std::unique_ptr<Host> machine, std::vector<std::string> devices);

}  // namespace railbed
