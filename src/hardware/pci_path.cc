// The paths of both devices up to the root are lists of bridges, and the first bridge in both lists is where
// a transfer between the devices turns around. A PCIe switch shows as an upstream bridge with a downstream
// bridge for each of its ports. If the paths meet with at most one bridge below on either side, one switch is
// between the devices: PIX, as for two functions of one device. Farther up, but below one root port: PXB.
// Paths that never meet go through the processor: SYS if the devices' NUMA nodes differ, PHB if both root
// ports are on one bus and thus on one host bridge, else NODE.
#include "hardware/pci_path.h"

#include <algorithm>

namespace railbed {
namespace {

// Returns true for functions of one device.
bool same_slot(const PciDevice& a, const PciDevice& b) {
  return pci_slot_of(a.address) == pci_slot_of(b.address);
}

}  // namespace

std::string_view to_text(PathClass path) { return enum_names(path)[static_cast<std::size_t>(path)]; }

PathClass path_between(const std::vector<PciDevice>& devices, const PciDevice& a, const PciDevice& b) {
  if (same_slot(a, b)) return PathClass::kPix;
  const auto above_a = path_to_root(devices, a);
  const auto above_b = path_to_root(devices, b);
  for (std::size_t i = 1; i < above_a.size(); ++i) {
    const auto met = std::ranges::find(above_b, above_a[i]);
    if (met == above_b.end()) continue;
    // A switch is a pair of bridges, upstream and downstream: one switch leaves one bridge on either side
    // below the one where the paths meet.
    const auto below_b = static_cast<std::size_t>(met - above_b.begin());
    return i <= 2 && below_b <= 2 ? PathClass::kPix : PathClass::kPxb;
  }
  const int node_a = a.numa_node.value_or(-1);
  const int node_b = b.numa_node.value_or(-1);
  if (node_a >= 0 && node_b >= 0 && node_a != node_b) return PathClass::kSys;
  const bool known = !above_a.empty() && !above_b.empty();
  // Root ports on one bus belong to one host bridge.
  return known && pci_bus_of(above_a.back()->address) == pci_bus_of(above_b.back()->address)
             ? PathClass::kPhb
             : PathClass::kNode;
}

std::vector<const PciDevice*> bridges_between(const std::vector<PciDevice>& devices, const PciDevice& a,
                                              const PciDevice& b) {
  const auto up_a = path_to_root(devices, a);
  const auto up_b = path_to_root(devices, b);
  std::vector<const PciDevice*> bridges;
  for (std::size_t i = 1; i < up_a.size(); ++i) {
    const auto meet = std::ranges::find(up_b, up_a[i]);
    if (meet == up_b.end()) {
      bridges.push_back(up_a[i]);
      continue;
    }
    for (auto each = up_b.begin() + 1; each < meet; ++each) bridges.push_back(*each);
    return bridges;
  }
  return {};
}

bool redirects_peers(const PciDevice& bridge) {
  // Source validation, request redirect, completion redirect, upstream forwarding (PCI Express Base
  // Specification, ACS control register).
  constexpr int kRedirects = 0x01 | 0x04 | 0x08 | 0x10;
  return bridge.acs_control.ok() && (*bridge.acs_control & kRedirects) != 0;
}

}  // namespace railbed
