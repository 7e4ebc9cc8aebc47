// The diagnostics of a transceiver or cable. Modules are read over a slow bus, which takes a tenth of a
// second each.
#pragma once

#include <string>

#include "facts/network/load.h"

namespace railbed {

// Reads the interface's module: `ethtool -m NAME`. Denied for users who may not; unsupported if the program
// fails for another reason, such as a port without a module.
Reading<Optics> read_optics(Host& host, const std::string& interface);

}  // namespace railbed
