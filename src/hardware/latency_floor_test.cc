#include "hardware/latency_floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/facts.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;

struct Host {
  double gigabits = 100;
  PcieLink link{8, 16};
  std::string layer = "Ethernet";
  std::string rate_text = "4X EDR";
  std::string driver = "mlx5_core";
};

template <class T>
Reading<T> stated(T value) {
  return {std::move(value), "/sys/x"};
}

Facts facts_of_host(const Host& host) {
  Facts facts;
  NetInterface interface;
  interface.name = "ens6";
  interface.speed_mbps = stated(static_cast<int>(host.gigabits * 1000));
  interface.driver = stated(host.driver);
  interface.pci_address = stated<std::string>("0000:02:00.0");
  facts.net.interfaces = stated(std::vector{interface});
  RdmaPort port;
  port.link_layer = stated(host.layer);
  port.rate = stated(BitRate::gigabits(host.gigabits));
  port.rate_text = stated(host.rate_text);
  RdmaDevice device;
  device.name = "mlx5_0";
  device.pci_address = stated<std::string>("0000:02:00.0");
  device.ports = stated(std::vector{port});
  facts.rdma.devices = stated(std::vector{device});
  PciDevice adapter;
  adapter.address = "0000:02:00.0";
  adapter.link_now = stated(host.link);
  facts.pci = stated(std::vector{adapter});
  return facts;
}

Floor floor_between(const Host& host, const Trip& trip) {
  const Facts facts = facts_of_host(host);
  return latency_floor({"gpu01", "ens6", &facts}, {"gpu02", "ens6", &facts}, trip);
}

TEST(LeastWireBytes, CountsEveryPacketButTheLastGap) {
  EXPECT_EQ(least_wire_bytes(Wire::kRoceV2Ipv4, 1024, 8), 8u + 82 - 12);
  EXPECT_EQ(least_wire_bytes(Wire::kRoceV2Ipv4, 1024, 0), 82u - 12);
  EXPECT_EQ(least_wire_bytes(Wire::kRoceV2Ipv4, 1024, 4096), 4096u + 4 * 82 - 12);
  EXPECT_EQ(least_wire_bytes(Wire::kInfiniband, 4096, 4097), 4097u + 2 * 26);
  // Without timestamps 1460 bytes fit, and 78 are around them.
  EXPECT_EQ(least_wire_bytes(Wire::kTcpIpv4, 1500, 1460), 1460u + 78 - 12);
  EXPECT_EQ(least_wire_bytes(Wire::kTcpIpv4, 20, 8), 0u);
}

TEST(ShortestPacket, IsFourBytesWithTheirHeaders) {
  EXPECT_EQ(shortest_packet({8, 8}).bytes, 30);
  EXPECT_NEAR(shortest_packet({8, 8}).time.count(), 30 / 7.877, 0.01);
  EXPECT_NEAR(shortest_packet({32, 16}).time.count(), 30 / 63.02, 0.01);
}

TEST(LatencyFloor, AddsUpWireAndBothEnds) {
  const Floor floor = floor_between({40, {8, 8}}, {Wire::kRoceV2Ipv4, 2048, 8, false});
  ASSERT_EQ(floor.parts.size(), 3u);
  EXPECT_EQ(floor.parts[0].name, "wire");
  EXPECT_NEAR(floor.parts[0].time.count(), 78 * 8 / 40.0, 1e-9);
  EXPECT_EQ(floor.parts[0].source, "78 bytes with headers at 40.0 Gb/s (/sys/x)");
  EXPECT_EQ(floor.parts[2].name, "PCIe of gpu02");
  EXPECT_EQ(floor.parts[2].source, "one packet of 30 bytes over PCIe Gen3 x8 at 0000:02:00.0 (/sys/x)");
  EXPECT_NEAR(floor.time().count(), 78 * 8 / 40.0 + 2 * 30 / 7.877, 0.01);
  EXPECT_EQ(floor.note, "not in it: cable, adapters, processors");
}

TEST(LatencyFloor, ASwitchIsTheQuickestThatAnybodySells) {
  const Floor ethernet = floor_between({}, {Wire::kRoceV2Ipv4, 4096, 8, true});
  ASSERT_EQ(ethernet.parts.size(), 4u);
  EXPECT_EQ(ethernet.parts[1].name, "a switch");
  EXPECT_EQ(ethernet.parts[1].time.count(), 190);
  EXPECT_THAT(ethernet.parts[1].source, HasSubstr("Nexus 3548"));
  const Floor infiniband = floor_between({100, {8, 16}, "InfiniBand"}, {Wire::kInfiniband, 4096, 8, true});
  EXPECT_EQ(infiniband.parts[1].time.count(), 90);
  const Floor unknown = floor_between({}, {Wire::kTcpIpv4, 9000, 8});
  EXPECT_EQ(unknown.parts.size(), 3u);
  EXPECT_EQ(unknown.note, "not in it: cable, adapters, both kernels, a switch, if there is one");
}

TEST(LatencyFloor, AReadGoesThereAndBack) {
  const Floor floor = floor_between({}, {Wire::kRoceV2Ipv4, 4096, 8, true, true});
  EXPECT_NEAR(floor.parts[0].time.count(), (70 + 78) * 8 / 100.0, 1e-9);
  EXPECT_EQ(floor.parts[1].name, "a switch, twice");
  EXPECT_EQ(floor.parts[1].time.count(), 380);
}

TEST(LatencyFloor, TheSlowerLinkCounts) {
  const Facts fast = facts_of_host({});
  const Facts slow = facts_of_host({25});
  for (const auto& [a, b] : {std::pair{&fast, &slow}, std::pair{&slow, &fast}})
    EXPECT_THAT(latency_floor({"a", "ens6", a}, {"b", "ens6", b}, {Wire::kTcpIpv4, 1500, 8}).parts[0].source,
                HasSubstr("25.0 Gb/s"));
}

TEST(LatencyFloor, WithoutAPciPathThatEndIsNamed) {
  Facts facts = facts_of_host({});
  facts.pci = {};
  const Floor floor =
      latency_floor({"a", "ens6", &facts}, {"b", "ens6", &facts}, {Wire::kRoceV2Ipv4, 4096, 8, false});
  EXPECT_EQ(floor.parts.size(), 1u);
  EXPECT_THAT(floor.note, HasSubstr("PCIe of a, PCIe of b"));
}

TEST(LatencyFloor, SaysWhyThereIsNone) {
  const Facts facts = facts_of_host({});
  const Trip trip{Wire::kRoceV2Ipv4, 4096, 8};
  EXPECT_EQ(latency_floor({"a", "ens6", nullptr}, {"b", "ens6", &facts}, trip).note,
            "without the facts of both ends");
  EXPECT_EQ(latency_floor({"a", "ens6", &facts}, {"a", "ens7", &facts}, trip).note,
            "both ends are one machine: no wire");
  const Floor virtual_link = floor_between({10, {8, 8}, "Ethernet", "", "virtio_net"}, trip);
  EXPECT_TRUE(virtual_link.parts.empty());
  EXPECT_THAT(virtual_link.note,
              HasSubstr("is virtual (virtio_net): the speed that it reports is not physical"));
  Facts silent = facts;
  silent.rdma.devices = {};
  silent.net.interfaces = {};
  EXPECT_TRUE(latency_floor({"a", "ens6", &silent}, {"b", "ens6", &silent}, trip).parts.empty());
}

// The lowest published latencies that we know of: each is above its floor.
struct Published {
  std::string_view source;
  Host host;
  Trip trip;
  double nanoseconds = 0;
};
const Published kPublished[] = {
    {"ConnectX-3 Pro, ib_write_lat, cable: the least of the guide to two V100 servers (tests/machines/v100-*)",
     {40, {8, 8}},
     {Wire::kRoceV2Ipv4, 1024, 2, false},
     810},
    {"ConnectX-3, ib_write_lat over InfiniBand of 40 Gb/s, MTU 4096: t_min of a public log",
     {40, {8, 8}, "InfiniBand", "4X FDR10"},
     {Wire::kInfiniband, 4096, 2},
     870},
    {"ConnectX-4 and -5: UCX' estimate for EDR (src/uct/ib/base/ib_iface.c, latency.overhead)",
     {100, {8, 16}, "InfiniBand", "4X EDR"},
     {Wire::kInfiniband, 4096, 2, false},
     600},
    {"ConnectX-4 and -5 at 100 Gb/s Ethernet: the same table counts them as EDR (openucx/ucx#1865)",
     {100, {8, 16}},
     {Wire::kRoceV2Ipv4, 4096, 2, true},
     600},
    {"ConnectX-6: \"sub-600ns latency\" (docs.nvidia.com, ConnectX-6 adapter cards, introduction)",
     {200, {16, 16}, "InfiniBand", "4X HDR"},
     {Wire::kInfiniband, 4096, 2, true},
     600},
    {"ConnectX-6 EN: \"sub 0.8usec latency\" (its product brief)",
     {200, {16, 16}},
     {Wire::kRoceV2Ipv4, 4096, 2, true},
     800},
    {"ConnectX-7 of a DGX Spark, ib_write_lat, cable (eugr/spark-vllm-docker, docs/NETWORKING.md): t_min",
     {200, {32, 4}, "Ethernet", "4X HDR"},
     {Wire::kRoceV2Ipv4, 1024, 2, false},
     1420},
    {"HDR InfiniBand over switches, ib_write_lat -a, t_min of a public log: 2 bytes",
     {200, {16, 16}, "InfiniBand", "4X HDR"},
     {Wire::kInfiniband, 4096, 2, true},
     1790},
    {"… 64 KiB", {200, {16, 16}, "InfiniBand", "4X HDR"}, {Wire::kInfiniband, 4096, 64 << 10, true}, 6630},
    {"… 1 MiB", {200, {16, 16}, "InfiniBand", "4X HDR"}, {Wire::kInfiniband, 4096, 1 << 20, true}, 46680},
    {"… 8 MiB", {200, {16, 16}, "InfiniBand", "4X HDR"}, {Wire::kInfiniband, 4096, 8 << 20, true}, 345230},
};

TEST(LatencyFloor, LiesBelowWhatSoundPairsArePublishedToNeed) {
  for (const Published& published : kPublished) {
    const Floor floor = floor_between(published.host, published.trip);
    ASSERT_FALSE(floor.parts.empty()) << published.source;
    EXPECT_GT(floor.time().count(), 1) << published.source;
    EXPECT_LT(floor.time().count(), published.nanoseconds) << published.source;
  }
  // Long messages come close to it: it is no empty promise.
  const Published& longest = kPublished[std::size(kPublished) - 1];
  EXPECT_GT(floor_between(longest.host, longest.trip).time().count(), 0.95 * longest.nanoseconds);
}

}  // namespace
}  // namespace railbed
