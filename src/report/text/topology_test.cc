#include "report/text/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PciDevice device(std::string address, std::string parent, std::uint16_t vendor, std::uint32_t code,
                 int numa) {
  PciDevice device;
  device.address = std::move(address);
  if (!parent.empty()) device.parent = {std::move(parent), "pci"};
  device.vendor = {vendor, "pci"};
  device.class_code = {code, "pci"};
  device.numa_node = {numa, "pci"};
  return device;
}

// A GPU and two adapters below one switch; a third adapter on the other processor.
Facts machine() {
  Facts facts;
  facts.pci = {{device("0000:00:01.0", "", 0x8086, 0x060400, 0),
                device("0000:01:00.0", "0000:00:01.0", 0x8086, 0x060400, 0),
                device("0000:02:00.0", "0000:01:00.0", 0x8086, 0x060400, 0),
                device("0000:02:01.0", "0000:01:00.0", 0x8086, 0x060400, 0),
                device("0000:03:00.0", "0000:02:00.0", kVendorNvidia, 0x030200, 0),
                device("0000:04:00.0", "0000:02:01.0", kVendorMellanox, 0x020000, 0),
                device("0000:04:00.1", "0000:02:01.0", kVendorMellanox, 0x020000, 0),
                device("0000:80:01.0", "", 0x8086, 0x060400, 1),
                device("0000:81:00.0", "0000:80:01.0", kVendorMellanox, 0x020000, 1),
                device("0000:82:00.0", "", 0x8086, 0x020000, 1)},
               "pci"};
  RdmaDevice rdma;
  rdma.name = "mlx5_0";
  rdma.pci_address = {"0000:04:00.0", "sys"};
  facts.rdma.devices = {{rdma}, "sys"};
  return facts;
}

TEST(Topology, NamesPathsAndTheNearestAdapters) {
  const auto matrix = topology_of(machine());
  ASSERT_EQ(matrix.devices.size(), 4);  // an adapter of another vendor without RDMA is none of them
  EXPECT_EQ(matrix.devices[0].name, "GPU0");
  EXPECT_EQ(matrix.devices[1].name, "mlx5_0");
  EXPECT_THAT(matrix.paths[0], ElementsAre("X", "PIX", "PIX", "SYS"));
  EXPECT_EQ(matrix.paths[2][1], "PIX");
  ASSERT_EQ(matrix.nearest.size(), 1);
  EXPECT_THAT(matrix.nearest[0].adapters, ElementsAre("mlx5_0", "0000:04:00.1"));
  EXPECT_EQ(matrix.nearest[0].path, "PIX");
  EXPECT_THAT(render_topology(matrix), HasSubstr("GPU0 is nearest to mlx5_0, 0000:04:00.1 (PIX)\n"));
  EXPECT_THAT(json::dump(json::encode(matrix)), HasSubstr("\"nearest\""));
}

TEST(Topology, OfNothingSaysSo) {
  EXPECT_EQ(render_topology(topology_of({})), "No GPU and no RDMA adapter on PCI.\n");
  Facts without_pci;
  without_pci.pci = {std::vector<PciDevice>{}, "pci"};
  EXPECT_TRUE(topology_of(without_pci).devices.empty());
}

}  // namespace
}  // namespace railbed
