// Runs threads close to the device that they serve.
#pragma once

#include <string>

namespace railbed {

// Binds the calling thread to the processors of the device's NUMA node (/sys/bus/pci/devices/ADDRESS/
// local_cpulist), as far as its affinity allows them. Changes nothing if these processors are unknown.
void run_near(const std::string& pci_address);

}  // namespace railbed
