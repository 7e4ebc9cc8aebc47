// The distance of two PCI devices, in the terms of `nvidia-smi topo -m` and NCCL.
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

// Returns the distance of two devices. A device whose parent is not known counts as the top of its own path.
PathClass path_between(const std::vector<PciDevice>& devices, const PciDevice& a, const PciDevice& b);

// Returns the bridges that a transfer between two devices passes below their common ancestor; empty if it
// goes through the processor. The pointers point into `devices`.
std::vector<const PciDevice*> bridges_between(const std::vector<PciDevice>& devices, const PciDevice& a,
                                              const PciDevice& b);
// Returns true if ACS of this bridge redirects traffic between peers to the root.
bool redirects_peers(const PciDevice& bridge);

}  // namespace railbed
