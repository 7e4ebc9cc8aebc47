// The kernel's name of the present boot.
#pragma once

#include <string>

#include "base/reading.h"
#include "host/host.h"

namespace railbed {

// Returns random digits that differ after each restart of the machine.
Reading<std::string> read_boot_id(Host& host);

}  // namespace railbed
