// Adapter functions that must be left alone.
#pragma once

#include <string>

#include "base/reading.h"
#include "host/host.h"

namespace railbed {

// ConnectX functions that only manage NVSwitches say SW_MNG in their VPD; each read of their counters makes
// the firmware log an error (NVIDIA Fabric Manager user guide, "NVLink 5"). VPD is slow, so only InfiniBand
// asks. `device` is a name in /sys/class/infiniband.
Reading<bool> manages_nvswitches(Host& host, const std::string& device);

}  // namespace railbed
