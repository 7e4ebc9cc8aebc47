// Adapter functions that must be left alone.
#pragma once

#include <string>

#include "base/reading.h"
#include "host/host.h"

namespace railbed {

// Returns whether `device`, a name in /sys/class/infiniband, is a ConnectX function that only manages
// NVSwitches: its VPD contains SW_MNG. Each read of such a function's counters makes its firmware log an
// error (NVIDIA Fabric Manager user guide, "NVLink 5"). Reading VPD is slow, so only InfiniBand ports are
// checked.
Reading<bool> manages_nvswitches(Host& host, const std::string& device);

}  // namespace railbed
