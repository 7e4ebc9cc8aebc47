// What a transceiver or cable says of itself, one at a time: over a slow bus, a tenth of a second each.
#pragma once

#include <string>

#include "facts/load.h"

namespace railbed {

// Of the interface's module: `ethtool -m NAME`.
Reading<Optics> read_optics(Host& host, const std::string& interface);

}  // namespace railbed
