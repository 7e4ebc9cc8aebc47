#include "hardware/nic.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "facts/pcie.h"

namespace railbed {
namespace {

constexpr BitRate gb(double value) { return BitRate::gigabits(value); }
constexpr BitRate kNone{};

// Device ids and names: the kernel's drivers/net/ethernet/mellanox/{mlx4,mlx5/core}/main.c and
// include/linux/mlx5/driver.h; speeds and PCIe: the adapters' user manuals on docs.nvidia.com.
// Connected mode: removed with mlx5's enhanced IPoIB (MLNX_EN/OFED release notes, "IPoIB enhanced mode"; Red
// Hat, RHEL 9 and 10, "Configuring IPoIB": "starting from ConnectX-4 … on RHEL 8 and later … datagram only").
// RoCE's path MTU: mlx4 states 4096 where the interface's MTU allows it (drivers/infiniband/hw/mlx4/main.c,
// eth_link_query_port), and ConnectX-3 takes 2048: a ConnectX-4 that sends it more gets a few MB/s
// (workinghardinit.work, "Fixing slow RoCE RDMA performance with WinOF-2 to WinOF", 2019).
constexpr std::string_view kMlx4 = "Linux drivers/net/ethernet/mellanox/mlx4/main.c; ConnectX-3 user manual";
constexpr std::string_view kMlx5 = "Linux drivers/net/ethernet/mellanox/mlx5/core/main.c; the user manual";

constexpr NicModel kNics[] = {
    {0x1003, "ConnectX-3", "mlx4_core", "mlx4_ib", gb(56), gb(40), 8, 8, true, false, 2048, false, kMlx4},
    {0x1007, "ConnectX-3 Pro", "mlx4_core", "mlx4_ib", gb(56), gb(40), 8, 8, true, true, 2048, false, kMlx4},
    {0x1011, "Connect-IB", "mlx5_core", "mlx5_ib", gb(56), kNone, 8, 16, true, false, 0, true, kMlx5},
    {0x1013, "ConnectX-4", "mlx5_core", "mlx5_ib", gb(100), gb(100), 8, 16, false, true, 4096, true, kMlx5},
    {0x1015, "ConnectX-4 Lx", "mlx5_core", "mlx5_ib", kNone, gb(50), 8, 8, false, true, 4096, true, kMlx5},
    {0x1017, "ConnectX-5", "mlx5_core", "mlx5_ib", gb(100), gb(100), 8, 16, false, true, 4096, true, kMlx5},
    {0x1019, "ConnectX-5 Ex", "mlx5_core", "mlx5_ib", gb(100), gb(100), 16, 16, false, true, 4096, true,
     kMlx5},
    {0x101b, "ConnectX-6", "mlx5_core", "mlx5_ib", gb(200), gb(200), 16, 16, false, true, 4096, true, kMlx5},
    {0x101d, "ConnectX-6 Dx", "mlx5_core", "mlx5_ib", kNone, gb(200), 16, 16, false, true, 4096, true, kMlx5},
    {0x101f, "ConnectX-6 Lx", "mlx5_core", "mlx5_ib", kNone, gb(50), 16, 8, false, true, 4096, true, kMlx5},
    {0x1021, "ConnectX-7", "mlx5_core", "mlx5_ib", gb(400), gb(400), 32, 16, false, true, 4096, true, kMlx5},
    {0x1023, "ConnectX-8", "mlx5_core", "mlx5_ib", gb(800), gb(400), 64, 16, false, true, 4096, true, kMlx5},
    {0xa2d2, "BlueField", "mlx5_core", "mlx5_ib", gb(100), gb(100), 16, 16, false, true, 4096, true, kMlx5},
    {0xa2d6, "BlueField-2", "mlx5_core", "mlx5_ib", gb(200), gb(200), 16, 16, false, true, 4096, true, kMlx5},
    {0xa2dc, "BlueField-3", "mlx5_core", "mlx5_ib", gb(400), gb(400), 32, 16, false, true, 4096, true, kMlx5},
};

// Virtual functions: mlx4_pci_table and mlx5_core_pci_table of the same files, the rows with MLX4_PCI_DEV_IS_VF and
// MLX5_PCI_DEV_IS_VF. A row of the BlueField's is that of its ConnectX-5.
struct VirtualNic {
  std::uint16_t device;
  std::uint16_t physical;
};
constexpr VirtualNic kVirtualNics[] = {
    {0x1004, 0x1003}, {0x1012, 0x1011}, {0x1014, 0x1013}, {0x1016, 0x1015},
    {0x1018, 0x1017}, {0x101a, 0x1019}, {0x101c, 0x101b}, {0xa2d3, 0xa2d2},
};
// "ConnectX Family mlx5Gen Virtual Function": of ConnectX-6 Dx and all later ones.
constexpr NicModel kAnyVirtual = {0x101e,      "ConnectX virtual function",
                                  "mlx5_core", "mlx5_ib",
                                  gb(800),     gb(400),
                                  64,          16,
                                  false,       true,
                                  4096,        true,
                                  kMlx5};

// "available_in_rhel": [7, 8, 9], "maintained_in_rhel": [7, 8] of ConnectX-3 and ConnectX-3 Pro. AlmaLinux 10
// gave its mlx4_core their PCI ids back (its release notes, "Extended hardware support").
constexpr std::string_view kLeapp =
    "Red Hat's upgrade tool: oamg/leapp-repository, etc/leapp/files/device_driver_deprecation_data.json";
constexpr DroppedDriver kDropped[] = {
    {"mlx4_core", "rhel", 10, kLeapp},
    {"mlx4_core", "rocky", 10, kLeapp},
};
constexpr DroppedDriver kUnmaintained[] = {
    {"mlx4_core", "rhel", 9, kLeapp},
};

}  // namespace

std::span<const NicModel> nic_models() { return kNics; }

const NicModel* find_nic(std::uint16_t device) {
  if (device == kAnyVirtual.device) return &kAnyVirtual;
  if (const auto* const one = std::ranges::find(kVirtualNics, device, &VirtualNic::device);
      one != std::end(kVirtualNics))
    device = one->physical;
  const auto found = std::ranges::find(kNics, device, &NicModel::device);
  return found == std::end(kNics) ? nullptr : found;
}

const NicModel* find_nic(const PciDevice& device, const std::vector<PciDevice>& all) {
  if (device.vendor.value_or(0) != kVendorMellanox) return nullptr;
  const PciDevice* const physical =
      device.physical_function.ok() ? find_pci(all, *device.physical_function) : nullptr;
  const NicModel* const known =
      physical != nullptr && physical != &device ? find_nic(physical->device.value_or(0)) : nullptr;
  return known != nullptr ? known : find_nic(device.device.value_or(0));
}

bool is_virtual_function(const PciDevice& device) {
  if (device.virtual_function.value_or(false)) return true;
  const std::uint16_t id = device.vendor.value_or(0) == kVendorMellanox ? device.device.value_or(0) : 0;
  return id == kAnyVirtual.device ||
         std::ranges::find(kVirtualNics, id, &VirtualNic::device) != std::end(kVirtualNics);
}

const NicModel* find_nic_named(std::string_view text) {
  // Removes spaces and hyphens: "ConnectX-4 Lx" and "CX4Lx" both become "cx4lx".
  const auto plain = [](std::string_view name) {
    std::string small = lower(name);
    std::erase_if(small, [](char c) { return c == ' ' || c == '-'; });
    if (const std::size_t at = small.find("connectx"); at != std::string::npos) small.replace(at, 8, "cx");
    return small;
  };
  const std::string wanted = plain(text);
  const NicModel* best = nullptr;
  for (const NicModel& row : kNics)
    if (wanted.find(plain(row.name)) != std::string::npos &&
        (best == nullptr || row.name.size() > best->name.size()))
      best = &row;
  return best;
}

std::span<const DroppedDriver> dropped_drivers() { return kDropped; }
std::span<const DroppedDriver> unmaintained_drivers() { return kUnmaintained; }

}  // namespace railbed
