#include "hardware/spark.h"

#include <algorithm>

#include "facts/facts.h"

namespace railbed {
namespace {

constexpr std::uint16_t kGb10 = 0x2e12;         // pci.ids: GB20B [GB10]
constexpr std::uint16_t kConnectX7Id = 0x1021;  // pci.ids: MT2910 Family [ConnectX-7]

bool is_of(const PciDevice& device, std::uint16_t vendor, std::uint16_t id) {
  return device.vendor.value_or(0) == vendor && device.device.value_or(0) == id;
}

const PciDevice* device_under(const Facts& facts, std::string_view interface) {
  const NetInterface* found = find_interface(facts.net, interface);
  return found == nullptr || !found->pci_address ? nullptr : find_pci(items(facts.pci), *found->pci_address);
}

}  // namespace

bool is_spark_gpu(const PciDevice& device) { return is_of(device, kVendorNvidia, kGb10); }

bool is_spark_function(const std::vector<PciDevice>& devices, const PciDevice& device) {
  return is_of(device, kVendorMellanox, kConnectX7Id) && std::ranges::any_of(devices, is_spark_gpu);
}

bool share_spark_cable(const Facts& facts, std::string_view interface, std::string_view other) {
  const PciDevice* device = device_under(facts, interface);
  const PciDevice* two = device_under(facts, other);
  if (device == nullptr || two == nullptr || device == two) return false;
  const bool functions =
      is_spark_function(items(facts.pci), *device) && is_spark_function(items(facts.pci), *two);
  return functions && device->address.back() == two->address.back();
}

}  // namespace railbed
