// RDMA adapters: the limits of each model, and what it does not support.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace railbed {

struct PciDevice;  // facts/pcie.h

struct NicModel {
  std::uint16_t device;          // PCI device id under vendor 15b3
  std::string_view name;         // ConnectX-4
  std::string_view module;       // kernel driver of the function: mlx5_core
  std::string_view rdma_module;  // kernel driver of its RDMA device: mlx5_ib
  BitRate infiniband;            // fastest port as InfiniBand; 0: not supported
  BitRate ethernet;              // fastest port as Ethernet; 0: not supported
  double pcie_gigatransfers;     // per lane
  int pcie_width;
  bool connected_ipoib;  // supports IPoIB connected mode with its MTU of 65520
  bool roce_v2;
  int roce_path_mtu;  // largest path MTU of RoCE in bytes, whatever the driver states; 0: no RoCE
  // The kernel's own driver reaches GPU memory; if not, only NVIDIA's driver may (gpudirect.h).
  bool gpudirect;
  std::string_view source;
};

std::span<const NicModel> nic_models();
// Returns the row of this PCI device ID; null if there is none. A virtual function has the row of its physical one.
// Adapters since ConnectX-6 Dx have one ID for the virtual functions of every model: its row has the limits of
// the largest.
const NicModel* find_nic(std::uint16_t device);
// The same of a device among those of its node, where a virtual function names its physical one.
const NicModel* find_nic(const PciDevice& device, const std::vector<PciDevice>& all);
// Returns whether a device is a virtual function: the kernel says so, or in a virtual machine its ID.
bool is_virtual_function(const PciDevice& device);
// Returns the row with the longest name in `text`, in the usual spellings: "ConnectX-4 Lx", "CX-4", "cx4".
// Null if there is none.
const NicModel* find_nic_named(std::string_view text);

// The first major version of an operating system (ID of os-release) whose own kernel no longer has a driver
// for an adapter.
struct DroppedDriver {
  std::string_view module;
  std::string_view os;
  int version;
  std::string_view source;
};
std::span<const DroppedDriver> dropped_drivers();
// Returns the versions whose kernel still has a driver that the distribution no longer tests or updates.
std::span<const DroppedDriver> unmaintained_drivers();

}  // namespace railbed
