// The processor cores that serve the interrupts of RDMA adapters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;
struct PciDevice;

struct AdapterInterrupts {
  std::string pci_address;
  // Maps a CPU list ("0", "0-15") to the number of interrupts it serves. The interrupts are the numbers in
  // /sys/bus/pci/devices/ADDRESS/msi_irqs; the CPU list of each is in /proc/irq/N/effective_affinity_list.
  Reading<std::map<std::string, int>> cores;
  FIELDS(AdapterInterrupts, pci_address, cores);
};

// Collects the interrupts of NVIDIA (Mellanox) network adapters, without virtual functions.
Reading<std::vector<AdapterInterrupts>> collect_interrupts(Host& host,
                                                           const Reading<std::vector<PciDevice>>& pci);

}  // namespace railbed
