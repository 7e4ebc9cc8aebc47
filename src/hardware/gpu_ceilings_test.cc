#include "hardware/gpu_ceilings.h"

#include <gtest/gtest.h>

#include "facts/facts.h"
#include "hardware/collective_ceiling.h"

namespace railbed {
namespace {

Facts with_gpu(int links, int speed, int lanes) {
  Facts facts;
  Gpu gpu;
  gpu.pci_address = "0000:06:00.0";
  NvmlGpu nvml;
  NvmlLinks all;
  for (int i = 0; i < links; ++i) all[std::to_string(i)] = {true, speed, {}};
  all["down"] = {false, speed, {}};
  nvml.nvlinks = Reading<NvmlLinks>(all, "nvml");
  gpu.nvml = Reading<NvmlGpu>(nvml, "nvml");
  facts.gpus.devices = Reading<std::vector<Gpu>>({gpu}, "pci");
  PciDevice device;
  device.address = gpu.pci_address;
  device.vendor = Reading<std::uint16_t>(kVendorNvidia, "sysfs");
  device.class_code = Reading<std::uint32_t>(0x030200, "sysfs");
  device.link_now = Reading<PcieLink>({32, lanes}, "sysfs");
  facts.pci = Reading<std::vector<PciDevice>>({device}, "pci");
  return facts;
}

CollectiveReport on(std::initializer_list<const char*> nodes) {
  CollectiveReport report;
  for (const char* node : nodes)
    report.ranks.push_back(
        {static_cast<int>(report.ranks.size()), node, 1, {0, "0000:06:00.0", "GPU", 0, 0}});
  return report;
}

TEST(GpuCeilings, NvlinkCountsTheLinksThatAreUpAsDataSheetsDo) {
  const auto h200 = nvlink_limit(with_gpu(18, 26562, 16), "0000:06:00.0", "gpu01");
  ASSERT_TRUE(h200);
  EXPECT_DOUBLE_EQ(h200->rate.gigabytes(), 450);
  EXPECT_EQ(h200->name, "NVLink, 18 links of gpu01 at 0000:06:00.0");
  EXPECT_DOUBLE_EQ(nvlink_limit(with_gpu(17, 26562, 16), "0000:06:00.0", "n")->rate.gigabytes(), 425);
  EXPECT_DOUBLE_EQ(nvlink_limit(with_gpu(12, 25000, 16), "0000:06:00.0", "n")->rate.gigabytes(), 300);
  EXPECT_DOUBLE_EQ(nvlink_limit(with_gpu(6, 25781, 16), "0000:06:00.0", "n")->rate.gigabytes(), 150);
  EXPECT_DOUBLE_EQ(nvlink_limit(with_gpu(18, 53125, 16), "0000:06:00.0", "n")->rate.gigabytes(), 900);
  EXPECT_FALSE(nvlink_limit(with_gpu(0, 26562, 16), "0000:06:00.0", "n"));
  EXPECT_FALSE(nvlink_limit(with_gpu(18, 26562, 16), "0000:07:00.0", "n"));
}

TEST(GpuCeilings, ACopyWithinMemoryReadsAndWrites) {
  const auto h200 = memory_copy_limit(3'201'000, 6144);
  ASSERT_TRUE(h200);
  EXPECT_NEAR(h200->rate.gigabytes(), 4917 / 2.0, 1);
  EXPECT_FALSE(memory_copy_limit(0, 6144));
}

TEST(CollectiveCeiling, IsTheSlowestGpusOnOneNode) {
  const std::map<std::string, Facts> facts{{"a", with_gpu(18, 26562, 16)}};
  EXPECT_DOUBLE_EQ(collective_ceiling(on({"a", "a"}), facts).limits.front().rate.gigabytes(), 450);
  EXPECT_TRUE(collective_ceiling(on({"a"}), facts).limits.empty());
}

TEST(CollectiveCeiling, WithoutNvlinkPcieBinds) {
  const std::map<std::string, Facts> facts{{"a", with_gpu(0, 0, 8)}};
  const auto ceiling = collective_ceiling(on({"a", "a"}), facts);
  ASSERT_FALSE(ceiling.limits.empty());
  EXPECT_EQ(ceiling.limits.front().name, "PCIe Gen5 x8 at 0000:06:00.0 of a");
}

TEST(CollectiveCeiling, BetweenNodesTheNetworkBinds) {
  Facts facts = with_gpu(18, 26562, 16);
  RdmaPort port;
  port.state = Reading<std::string>("ACTIVE", "sysfs");
  port.link_layer = Reading<std::string>("InfiniBand", "sysfs");
  port.rate = Reading<BitRate>(BitRate::gigabits(400), "sysfs");
  RdmaPort second = port;
  second.number = 2;
  RdmaPort down = port;
  down.state = Reading<std::string>("DOWN", "sysfs");
  RdmaDevice device;
  device.name = "mlx5_0";
  device.ports = Reading<std::vector<RdmaPort>>({port, second, down}, "sysfs");
  facts.rdma.devices = Reading<std::vector<RdmaDevice>>({device}, "sysfs");
  const std::map<std::string, Facts> both{{"a", facts}, {"b", facts}};
  const auto ceiling = collective_ceiling(on({"a", "a", "b", "b"}), both);
  ASSERT_EQ(ceiling.limits.size(), 3U);
  EXPECT_NEAR(ceiling.limits.front().rate.gigabytes(), 2 * 397.5 / 8, 0.2);
  EXPECT_EQ(ceiling.limits.front().name, "the network of a, 2 RDMA ports");
}

TEST(CollectiveCeiling, WithoutRdmaTheInterfacesBind) {
  NetInterface wire;
  wire.name = "ens6";
  wire.pci_address = Reading<std::string>("0000:1a:00.0", "sysfs");
  wire.driver = Reading<std::string>("ixgbe", "sysfs");
  wire.carrier = Reading<bool>(true, "sysfs");
  wire.speed_mbps = Reading<int>(10'000, "sysfs");
  wire.mtu = Reading<int>(1500, "sysfs");
  NetInterface unplugged = wire;
  unplugged.carrier = Reading<bool>(false, "sysfs");
  NetInterface veth = wire;
  veth.pci_address = veth.driver = {};
  Facts facts;
  facts.net.interfaces = Reading<std::vector<NetInterface>>({wire, unplugged, veth}, "sysfs");
  const auto ceiling = collective_ceiling(on({"a", "b"}), {{"a", facts}, {"b", Facts()}});
  ASSERT_EQ(ceiling.limits.size(), 1U);
  EXPECT_NEAR(ceiling.limits.front().rate.bits_per_second, 9.415e9, 1e6);
  EXPECT_EQ(ceiling.limits.front().name, "the network of a, 1 interface over TCP");
  facts.net.interfaces = Reading<std::vector<NetInterface>>({veth}, "sysfs");
  EXPECT_EQ(collective_ceiling(on({"a", "b"}), {{"a", facts}, {"b", facts}}).note,
            "no adapter of these nodes states its speed");
}

TEST(CollectiveCeiling, AnIdleGpusLinkCountsAsItIsUnderWork) {
  Facts facts = with_gpu(0, 0, 16);
  PciDevice gpu = facts.pci->front();
  gpu.link_now = Reading<PcieLink>({2.5, 16}, "sysfs");
  gpu.link_max = Reading<PcieLink>({16, 16}, "sysfs");
  gpu.parent = Reading<std::string>("0000:05:00.0", "sysfs");
  PciDevice above;
  above.address = "0000:05:00.0";
  above.link_max = Reading<PcieLink>({8, 16}, "sysfs");
  facts.pci = Reading<std::vector<PciDevice>>({gpu, above}, "pci");
  const auto ceiling = collective_ceiling(on({"a", "a"}), {{"a", facts}});
  ASSERT_FALSE(ceiling.limits.empty());
  EXPECT_EQ(ceiling.limits.front().name, "PCIe Gen3 x16 at 0000:06:00.0 of a");
}

}  // namespace
}  // namespace railbed
