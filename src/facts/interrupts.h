// Which processor cores serve the interrupts of RDMA adapters.
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
  // CPU list ("0", "0-15") → how many interrupts it serves: the numbers in
  // /sys/bus/pci/devices/ADDRESS/msi_irqs, each with /proc/irq/N/effective_affinity_list
  Reading<std::map<std::string, int>> cores;
  FIELDS(AdapterInterrupts, pci_address, cores);
};

Reading<std::vector<AdapterInterrupts>> collect_interrupts(Host& host,
                                                           const Reading<std::vector<PciDevice>>& pci);

}  // namespace railbed
