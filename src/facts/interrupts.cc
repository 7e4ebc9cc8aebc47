#include "facts/interrupts.h"

#include <algorithm>

#include "facts/pcie.h"
#include "facts/readings.h"

namespace railbed {
namespace {

constexpr std::size_t kMostVectors = 2048;  // the limit of MSI-X, PCI Express Base Specification 7.7.2

// Adds the cores of one interrupt. An interrupt that no driver requested has an empty list.
void count_cores(Host& host, const std::string& number, std::map<std::string, int>& cores) {
  const std::string folder = "/proc/irq/" + number;
  auto list = host.read_line(folder + "/effective_affinity_list");
  if (list.absent()) list = host.read_line(folder + "/smp_affinity_list");  // before Linux 4.15
  if (list && !list->empty() && parse_list(*list)) ++cores[*list];
}

Reading<std::map<std::string, int>> collect_cores(Host& host, const std::string& address) {
  return host.list("/sys/bus/pci/devices/" + address + "/msi_irqs")
      .parsed([&](const std::vector<std::string>& numbers) {
        std::map<std::string, int> cores;
        for (std::size_t i = 0; i < std::min(numbers.size(), kMostVectors); ++i)
          if (parse_number<int>(numbers[i])) count_cores(host, numbers[i], cores);
        return std::optional(std::move(cores));
      });
}

}  // namespace

Reading<std::vector<AdapterInterrupts>> collect_interrupts(Host& host,
                                                           const Reading<std::vector<PciDevice>>& pci) {
  return pci.parsed([&](const std::vector<PciDevice>& devices) {
    std::vector<AdapterInterrupts> found;
    for (const PciDevice& device : devices) {
      const bool adapter = is_network(device) && device.vendor.value_or(0) == kVendorMellanox &&
                           !device.virtual_function.value_or(false);
      if (!adapter || found.size() >= kMostRdmaDevices) continue;
      AdapterInterrupts interrupts{device.address, collect_cores(host, device.address)};
      if (!interrupts.cores.absent()) found.push_back(std::move(interrupts));
    }
    return std::optional(std::move(found));
  });
}

}  // namespace railbed
