// How close two PCI devices are, as `nvidia-smi topo -m` and NCCL name it.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "facts/pcie.h"

namespace railbed {

enum class PathClass {
  kPix,   // below one PCIe switch, or one device
  kPxb,   // below one root port, through several switches
  kPhb,   // through one host bridge of the CPU
  kNode,  // between host bridges of one NUMA node
  kSys,   // between NUMA nodes
};
constexpr auto enum_names(PathClass) {
  return std::array<std::string_view, 5>{"PIX", "PXB", "PHB", "NODE", "SYS"};
}
std::string_view to_text(PathClass path);

// A device whose path upwards is not known counts as on its own host bridge.
PathClass path_between(const std::vector<PciDevice>& devices, const PciDevice& a, const PciDevice& b);

// The bridges that a transfer between two devices passes below their common ancestor; empty when it goes
// through the processor anyway.
std::vector<const PciDevice*> bridges_between(const std::vector<PciDevice>& devices, const PciDevice& a,
                                              const PciDevice& b);
// ACS of this bridge sends what peers say to each other up to the root.
bool redirects_peers(const PciDevice& bridge);

}  // namespace railbed
