// RDMA adapters: what each can do at most, and what it cannot do at all.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.h"

namespace railbed {

struct NicModel {
  std::uint16_t device;          // PCI device id under vendor 15b3
  std::string_view name;         // ConnectX-4
  std::string_view module;       // kernel driver of the function: mlx5_core
  std::string_view rdma_module;  // kernel driver of its RDMA device: mlx5_ib
  BitRate infiniband;            // fastest port as InfiniBand; zero: cannot
  BitRate ethernet;              // fastest port as Ethernet; zero: cannot
  double pcie_gigatransfers;     // per lane
  int pcie_width;
  bool connected_ipoib;  // IPoIB connected mode and its MTU of 65520 exist
  bool roce_v2;
  int roce_path_mtu;  // the largest path MTU of RoCE, whatever the driver states; 0: cannot
  bool gpudirect;     // the kernel's own driver reaches GPU memory; else at most NVIDIA's (gpudirect.h)
  std::string_view source;
};

std::span<const NicModel> nic_models();
const NicModel* find_nic(std::uint16_t device);
// By its name as people write it: "ConnectX-4 Lx", "CX-4", "cx4"; the longest that stands in `text`.
const NicModel* find_nic_named(std::string_view text);

// The first major version of an operating system (ID of os-release) whose own kernel no longer drives an
// adapter.
struct DroppedDriver {
  std::string_view module;
  std::string_view os;
  int version;
  std::string_view source;
};
std::span<const DroppedDriver> dropped_drivers();
// The same for a version whose kernel has a driver that nobody there tests or updates.
std::span<const DroppedDriver> unmaintained_drivers();

}  // namespace railbed
