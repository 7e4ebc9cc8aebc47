#include "hardware/ceilings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/facts.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;

double gigabits(double line_rate, Wire wire, int mtu) { return line_rate * wire_efficiency(wire, mtu); }

TEST(WireOverhead, AddsUpToThePublishedFigures) {
  EXPECT_EQ(overhead_of(Wire::kRoceV2Ipv4), 82);
  EXPECT_EQ(overhead_of(Wire::kRoceV2Ipv6), 102);
  EXPECT_EQ(overhead_of(Wire::kRoceV1), 94);
  EXPECT_EQ(overhead_of(Wire::kInfiniband), 26);
  EXPECT_EQ(overhead_of(Wire::kTcpIpv4), 38 + 20 + 32);
  EXPECT_EQ(overhead_of(Wire::kTcpIpv6), 38 + 40 + 32);
}

TEST(WireEfficiency, GivesTheKnownCeilings) {
  EXPECT_NEAR(gigabits(40, Wire::kRoceV2Ipv4, 1024), 37.0, 0.05);
  EXPECT_NEAR(gigabits(40, Wire::kRoceV2Ipv4, 2048), 38.5, 0.05);
  EXPECT_NEAR(gigabits(100, Wire::kRoceV2Ipv4, 4096), 98.0, 0.05);
  EXPECT_NEAR(gigabits(200, Wire::kRoceV2Ipv4, 4096), 196.1, 0.05);
  EXPECT_NEAR(gigabits(400, Wire::kRoceV2Ipv4, 4096), 392.1, 0.05);
  EXPECT_NEAR(gigabits(400, Wire::kInfiniband, 4096), 397.5, 0.05);
  // 1448 of 1538 bytes, and 8948 of 9038.
  EXPECT_NEAR(gigabits(10, Wire::kTcpIpv4, 1500), 9.415, 0.001);
  EXPECT_NEAR(gigabits(10, Wire::kTcpIpv4, 9000), 9.900, 0.001);
}

TEST(WireEfficiency, ShortMessagesCarryTheirHeadersAlone) {
  EXPECT_NEAR(wire_efficiency(Wire::kRoceV2Ipv4, 4096, 64), 64.0 / (64 + 82 + 16), 1e-9);
  EXPECT_NEAR(wire_efficiency(Wire::kRoceV2Ipv4, 1024, 4096), 4096.0 / (4096 + 4 * 82 + 16), 1e-9);
  EXPECT_NEAR(wire_efficiency(Wire::kRoceV2Ipv4, 4096, 1ull << 30), wire_efficiency(Wire::kRoceV2Ipv4, 4096),
              1e-6);
  EXPECT_EQ(wire_efficiency(Wire::kTcpIpv4, 1500, 64), wire_efficiency(Wire::kTcpIpv4, 1500));
  EXPECT_EQ(wire_efficiency(Wire::kTcpIpv4, 40), 0);
}

TEST(PcieRate, GivesTheKnownCeilings) {
  EXPECT_NEAR(pcie_rate({8, 8}).gigabytes(), 7.2, 0.06);
  EXPECT_NEAR(pcie_rate({8, 16}).gigabytes(), 14.3, 0.06);
  EXPECT_NEAR(pcie_rate({16, 16}).gigabytes(), 28.6, 0.06);
  EXPECT_NEAR(pcie_rate({32, 4}).gigabytes(), 14.3, 0.06);
  EXPECT_NEAR(pcie_rate({32, 16}).gigabytes(), 57.2, 0.06);
  EXPECT_NEAR(pcie_rate({5, 8}).gigabytes(), 4.0 * 256 / 280, 0.001);
  EXPECT_GT(pcie_rate({64, 16}).gigabytes(), 105);
  EXPECT_EQ(describe_link({8, 8}), "PCIe Gen3 x8");
  EXPECT_EQ(describe_link({2.5, 1}), "PCIe Gen1 x1");
}

template <class T>
Reading<T> read(T value, std::string from = "/sys/x") {
  return {std::move(value), std::move(from)};
}

// One adapter ens6/mlx5_0 at 0000:02:00.0 below one root port.
struct Shape {
  double gigabits = 100;
  PcieLink link{8, 16};
  PcieLink root{8, 16};
  std::string layer = "Ethernet";
  std::string rate_text = "4X EDR";
};

Facts machine(const Shape& shape) {
  Facts facts;
  NetInterface interface;
  interface.name = "ens6";
  interface.speed_mbps = read(static_cast<int>(shape.gigabits * 1000), "/sys/class/net/ens6/speed");
  interface.driver = read<std::string>("mlx5_core");
  interface.pci_address = read<std::string>("0000:02:00.0");
  facts.net.interfaces = read(std::vector{interface});
  RdmaPort port;
  port.link_layer = read(shape.layer);
  port.rate = read(BitRate::gigabits(shape.gigabits), "/sys/class/infiniband/mlx5_0/ports/1/rate");
  port.rate_text = read(shape.rate_text);
  RdmaDevice device;
  device.name = "mlx5_0";
  device.pci_address = read<std::string>("0000:02:00.0");
  device.ports = read(std::vector{port});
  facts.rdma.devices = read(std::vector{device});
  PciDevice adapter;
  adapter.address = "0000:02:00.0";
  adapter.parent = read<std::string>("0000:00:01.0");
  adapter.max_payload = read(256);
  adapter.link_now = read(shape.link, "/sys/bus/pci/devices/0000:02:00.0/current_link_speed");
  PciDevice root;
  root.address = "0000:00:01.0";
  root.link_now = read(shape.root);
  facts.pci = read(std::vector{adapter, root});
  return facts;
}

Ceiling between(const Facts& a, const Facts& b, Wire wire, int mtu) {
  return path_ceiling({"gpu01", "ens6", &a}, {"gpu02", "ens6", &b}, wire, mtu);
}

// Published for two machines: 92.6 to 111.9 Gb/s per function. By default nine tenths of what sound hardware
// reaches are required.
TEST(PathCeiling, ASoundDgxSparkReachesItsOwn) {
  Facts facts = machine({200, {32, 4}, {32, 4}, "Ethernet", "4X HDR"});
  EXPECT_NEAR(between(facts, facts, Wire::kRoceV2Ipv4, 4096).limits.front().rate.gigabits(), 114.4, 0.1);
  PciDevice gpu;
  gpu.address = "000f:01:00.0";
  gpu.vendor = read(kVendorNvidia);
  gpu.device = read(std::uint16_t{0x2e12});
  auto devices = *facts.pci;
  devices[0].vendor = read(kVendorMellanox);
  devices[0].device = read(std::uint16_t{0x1021});
  devices.push_back(gpu);
  facts.pci = read(devices);
  const Ceiling ceiling = between(facts, facts, Wire::kRoceV2Ipv4, 4096);
  EXPECT_NEAR(ceiling.limits.front().rate.gigabits(), 114.4, 0.1);
  ASSERT_TRUE(ceiling.limits.front().least);
  EXPECT_GT(92.6, 0.9 * ceiling.limits.front().least->gigabits());
}

TEST(FindWire, IsTheWireEvenWhereSomethingElseBinds) {
  EXPECT_EQ(find_wire(Ceiling()), nullptr);
  const Facts facts = machine({100, {8, 4}});
  const Ceiling ceiling = path_ceiling({"a", "ens6", &facts}, {"b", "ens6", &facts}, Wire::kRoceV2Ipv4, 4096);
  ASSERT_NE(find_wire(ceiling), nullptr);
  EXPECT_NE(find_wire(ceiling), &ceiling.limits.front());
  EXPECT_NEAR(find_wire(ceiling)->rate.gigabits(), 98.0, 0.05);
}

TEST(PathCeiling, WireBindsWherePcieIsWide) {
  const Facts facts = machine({});
  const Ceiling ceiling = between(facts, facts, Wire::kRoceV2Ipv4, 4096);
  ASSERT_EQ(ceiling.limits.size(), 3u);
  EXPECT_EQ(ceiling.limits[0].name, "wire, 100 Gb/s at MTU 4096");
  EXPECT_NEAR(ceiling.limits[0].rate.gigabits(), 98.0, 0.05);
  EXPECT_THAT(ceiling.limits[0].source, HasSubstr("/sys/class/infiniband/mlx5_0/ports/1/rate"));
  EXPECT_THAT(ceiling.limits[0].source, HasSubstr("BTH 12"));
  EXPECT_FALSE(ceiling.nominal);
  EXPECT_EQ(ceiling.note, "");
}

TEST(PathCeiling, NarrowSlotBindsAndTheHopIsNamed) {
  const Ceiling slot = between(machine({}), machine({100, {8, 8}}), Wire::kRoceV2Ipv4, 4096);
  EXPECT_EQ(slot.limits[0].name, "PCIe Gen3 x8 at 0000:02:00.0 of gpu02");
  EXPECT_NEAR(slot.limits[0].rate.gigabytes(), 7.2, 0.06);
  const Ceiling above = between(machine({100, {16, 16}, {8, 4}}), machine({}), Wire::kTcpIpv4, 9000);
  EXPECT_EQ(above.limits[0].name, "PCIe Gen3 x4 at 0000:00:01.0 of gpu01");
}

TEST(PathCeiling, SlowerLinkIsNamed) {
  const Ceiling ceiling = between(machine({}), machine({25}), Wire::kTcpIpv4, 1500);
  EXPECT_EQ(ceiling.limits[0].name, "wire, 25.0 Gb/s at MTU 1500, the slower link: ens6 of gpu02");
}

TEST(PathCeiling, InfinibandRatesBecomeDataRates) {
  const auto rate = [](double gigabits, std::string text) {
    const Facts facts = machine({gigabits, {32, 16}, {32, 16}, "InfiniBand", std::move(text)});
    return between(facts, facts, Wire::kInfiniband, 4096).limits[0].rate.gigabits();
  };
  EXPECT_NEAR(rate(400, "4X NDR"), 397.5, 0.05);
  EXPECT_NEAR(rate(100, "4X EDR"), 99.4, 0.05);
  EXPECT_NEAR(rate(56, "4X FDR"), 54.2, 0.05);
  EXPECT_NEAR(rate(40, "4X QDR"), 31.8, 0.05);
  const Facts roce = machine({40, {8, 8}, {8, 8}, "Ethernet", "4X QDR"});  // mlx4's word for 40GbE
  EXPECT_NEAR(between(roce, roce, Wire::kRoceV2Ipv4, 2048).limits[0].rate.gigabits(), 38.5, 0.05);
}

TEST(PathCeiling, VirtualDevicesAreNominal) {
  Facts facts = machine({});
  NetInterface interface = facts.net.interfaces->front();
  interface.driver = read<std::string>("virtio_net");
  facts.net.interfaces = read(std::vector{interface});
  const Ceiling ceiling = between(machine({}), facts, Wire::kTcpIpv4, 1500);
  EXPECT_TRUE(ceiling.nominal);
  EXPECT_EQ(ceiling.note, "ens6 of gpu02 is virtual (virtio_net): the speed that it reports is not physical");
  EXPECT_FALSE(ceiling.limits.empty());
}

TEST(PathCeiling, NoSpeedNoFactsOneMachine) {
  Facts silent = machine({});
  NetInterface interface = silent.net.interfaces->front();
  interface.speed_mbps = Reading<int>(Miss{Missing::kUnsupported, "EINVAL"}, "/sys/class/net/ens6/speed");
  silent.net.interfaces = read(std::vector{interface});
  silent.pci = Reading<std::vector<PciDevice>>();
  const Ceiling none = between(silent, silent, Wire::kTcpIpv4, 1500);
  EXPECT_TRUE(none.limits.empty());
  EXPECT_EQ(none.note, "ens6 of gpu01 states no speed");
  const Facts facts = machine({});
  EXPECT_FALSE(
      path_ceiling({"a", "ens6", nullptr}, {"b", "ens6", &facts}, Wire::kTcpIpv4, 1500).note.empty());
  const Ceiling self = path_ceiling({"a", "ens6", &facts}, {"a", "ens6", &facts}, Wire::kTcpIpv4, 1500);
  EXPECT_TRUE(self.nominal);
  EXPECT_TRUE(self.limits.empty());
}

}  // namespace
}  // namespace railbed
