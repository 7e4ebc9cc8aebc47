// Threads beside the device they serve.
#pragma once

#include <string>

namespace railbed {

// Binds the calling thread to the processors of the device's NUMA node (/sys/bus/pci/devices/ADDRESS/
// local_cpulist), as far as it may use them. Where that is not known nothing changes.
void run_near(const std::string& pci_address);

}  // namespace railbed
