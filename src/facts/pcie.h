// PCI devices that matter to a GPU cluster (GPUs, network adapters, NVMe) and every bridge above them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;

// Returns a PCI address in the form of sysfs, "0000:1b:00.0", also for nvidia-smi's "00000000:1B:00.0". Empty
// if the text is no PCI address.
std::string sysfs_pci_address(std::string_view text);
// Return the part of such an address that all functions of a slot share, "0000:1b:00", and the part that all devices
// of a bus share, "0000:1b". Views into `address`.
std::string_view pci_slot_of(std::string_view address);
std::string_view pci_bus_of(std::string_view address);

// The speed (GT/s per lane) and width of a PCI Express link.
struct PcieLink {
  double gigatransfers = 0;  // 8.0 is Gen3, 16 Gen4, 32 Gen5
  int width = 0;             // lanes
  FIELDS(PcieLink, gigatransfers, width);
  bool operator==(const PcieLink&) const = default;
};

// D = /sys/bus/pci/devices/ADDRESS
struct PciDevice {
  std::string address;            // 0000:02:00.0
  Reading<std::string> parent;    // address of the bridge above, from the resolved D; absent at a root port
  Reading<std::uint16_t> vendor;  // D/vendor
  Reading<std::uint16_t> device;  // D/device
  Reading<std::uint32_t> class_code;  // D/class: 0x020000 Ethernet, 0x0207.. InfiniBand, 0x03.. display/3D
  Reading<std::string> driver;        // last part of D/driver, resolved
  Reading<int> numa_node;             // D/numa_node; -1 if the firmware does not define it
  Reading<PcieLink> link_now;         // D/current_link_speed, D/current_link_width
  Reading<PcieLink> link_max;         // D/max_link_speed, D/max_link_width
  Reading<bool> virtual_function;     // D/physfn exists
  // Address of the physical function of a virtual one, from the resolved D/physfn; absent if it is none
  Reading<std::string> physical_function;
  Reading<std::string> iommu_type;     // D/iommu_group/type: identity, DMA, DMA-FQ
  Reading<std::uint16_t> acs_control;  // bridges only: extended capability 0x000d of D/config; absent: no ACS
  Reading<int> max_read_request;       // bytes; PCI Express capability, Device Control
  Reading<bool> relaxed_ordering;      // same register
  Reading<int> max_payload;            // bytes; same register
  // Numbers, 0 to 5, of the base address registers to which the firmware and the kernel assigned no memory;
  // D/resource
  Reading<std::vector<int>> unassigned_bars;
  FIELDS(PciDevice, address, parent, vendor, device, class_code, driver, numa_node, link_now, link_max,
         virtual_function, physical_function, iommu_type, acs_control, max_read_request, relaxed_ordering,
         max_payload, unassigned_bars);
};

// Returns the link of one device.
Reading<PcieLink> pcie_link_now(Host& host, const std::string& address);
// Returns the device's totals of errors by severity ("correctable", "nonfatal", "fatal"), and beside them those of each
// error that it has counted ("fatal CmpltTO"); empty if the kernel counts none.
// D/aer_dev_SEVERITY: Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats
std::map<std::string, std::uint64_t> pcie_errors(Host& host, const std::string& address);

// Collects these devices, ordered by address.
Reading<std::vector<PciDevice>> collect_pcie(Host& host);

inline constexpr std::uint16_t kVendorNvidia = 0x10de;
inline constexpr std::uint16_t kVendorMellanox = 0x15b3;

// Compare the class with the PCI Code and ID Assignment Specification.
bool is_display(const PciDevice& device);  // display controller 0x03xxxx, of any maker
bool is_gpu(const PciDevice& device);      // the same, NVIDIA
bool is_network(const PciDevice& device);  // 0x02xxxx
bool is_nvme(const PciDevice& device);     // 0x0108xx
bool is_bridge(const PciDevice& device);   // 0x0604xx

// Returns the last PCI address in a resolved sysfs path; empty if there is none.
// "/sys/devices/pci0000:00/0000:00:01.0/ 0000:02:00.0/net/ens6" → "0000:02:00.0".
std::string last_pci_address(std::string_view resolved);

// Returns the device at this address; null if there is none. Bisection finds devices that are in order;
// otherwise a linear search follows.
const PciDevice* find_pci(const std::vector<PciDevice>& devices, std::string_view address);
// Returns the devices from this one up to its root port. The pointers point to `device` and into `devices`.
std::vector<const PciDevice*> path_to_root(const std::vector<PciDevice>& devices, const PciDevice& device);

}  // namespace railbed
