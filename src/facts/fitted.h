#pragma once

namespace railbed {

class Host;

// Return true if the driver of such hardware has registered a device. They read sysfs and /proc only and load
// no library.
bool has_rdma_devices(Host& host);
bool has_nvidia_gpus(Host& host);

}  // namespace railbed
