#include "hardware/network_ceiling.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "facts/facts.h"

namespace railbed {
namespace {

struct Function {
  std::string address;
  std::string card;  // its system image GUID
  PcieLink link;
};

// A node whose functions have `ports` active ports each.
Facts node_of(const std::vector<Function>& functions, int ports, const RdmaPort& port,
              const std::string& type) {
  std::vector<PciDevice> pci;
  std::vector<RdmaDevice> devices;
  for (const Function& function : functions) {
    PciDevice& on_bus = pci.emplace_back();
    on_bus.address = function.address;
    on_bus.link_now = {function.link, "sysfs"};
    on_bus.max_payload = {256, "sysfs"};
    RdmaDevice& device = devices.emplace_back();
    device.name = "hca" + std::to_string(devices.size());
    device.pci_address = {function.address, "sysfs"};
    device.image_guid = {function.card, "sysfs"};
    device.hca_type = {type, "sysfs"};
    std::vector<RdmaPort> all(static_cast<std::size_t>(ports), port);
    for (int i = 0; i < ports; ++i) all[static_cast<std::size_t>(i)].number = i + 1;
    device.ports = {std::move(all), "sysfs"};
  }
  Facts facts;
  facts.pci = {std::move(pci), "sysfs"};
  facts.rdma.devices = {std::move(devices), "sysfs"};
  return facts;
}

RdmaPort port_of(double gigabits, const std::string& text, const std::string& layer) {
  RdmaPort port;
  port.state = {std::string("ACTIVE"), "sysfs"};
  port.link_layer = {layer, "sysfs"};
  port.rate = {BitRate::gigabits(gigabits), "sysfs"};
  port.rate_text = {text, "sysfs"};
  port.active_mtu = {4096, "verbs"};
  return port;
}

double gigabytes(const Facts& facts) { return network_limit(facts, "n")->rate.gigabytes(); }

TEST(NetworkCeiling, TwoPortsOfOneCardShareItsSlot) {
  // The V100 guide's ConnectX-3 Pro: two ports of 40 Gb/s on Gen3 x8.
  const Facts v100 = node_of({{"0000:04:00.0", "a", {8, 8}}}, 2, port_of(40, "4X QDR", "Ethernet"), "MT4103");
  EXPECT_NEAR(gigabytes(v100), 7.15, 0.05);
  // One port alone is held by its wire.
  const Facts facts =
      node_of({{"0000:04:00.0", "a", {8, 8}}}, 1, port_of(40, "4X QDR", "Ethernet"), "MT4103");
  EXPECT_NEAR(gigabytes(facts), 4.81, 0.02);
}

TEST(NetworkCeiling, OneCableOnTwoFunctionsIsCountedOnce) {
  const RdmaPort port = port_of(200, "4X HDR", "Ethernet");
  const Function first{"0000:01:00.0", "spark", {32, 4}};
  const Function second{"0002:01:00.0", "spark", {32, 4}};
  EXPECT_NEAR(gigabytes(node_of({first}, 1, port, "MT4129")), 14.3, 0.1);
  EXPECT_NEAR(gigabytes(node_of({first, second}, 1, port, "MT4129")), 24.5, 0.1);
  // Both cables over both functions: the slots bind again.
  const std::vector<Function> all = {
      first, second, {"0000:01:00.1", "spark", {32, 4}}, {"0002:01:00.1", "spark", {32, 4}}};
  EXPECT_NEAR(gigabytes(node_of(all, 1, port, "MT4129")), 28.6, 0.1);
}

TEST(NetworkCeiling, CardsAddUp) {
  const RdmaPort port = port_of(400, "4X NDR", "InfiniBand");
  const Facts two =
      node_of({{"0000:1a:00.0", "a", {32, 16}}, {"0000:3d:00.0", "b", {32, 16}}}, 1, port, "MT4129");
  EXPECT_NEAR(gigabytes(two), 2 * 397.5 / 8, 0.2);
}

TEST(NetworkCeiling, OldInfinibandStatesTheSignallingRate) {
  const RdmaPort qdr = port_of(40, "4X QDR", "InfiniBand");
  EXPECT_NEAR(gigabytes(node_of({{"0000:04:00.0", "a", {8, 16}}}, 1, qdr, "MT4115")), 3.97, 0.02);
}

TEST(NetworkCeiling, AnUnknownSlotBindsNothing) {
  Facts facts = node_of({{"0000:04:00.0", "a", {8, 8}}}, 2, port_of(40, "4X QDR", "Ethernet"), "MT4115");
  facts.pci = Reading<std::vector<PciDevice>>(std::vector<PciDevice>(), "sysfs");
  EXPECT_NEAR(gigabytes(facts), 9.8, 0.05);
}

TEST(PathMtu, IsWhatTheAdapterCanDo) {
  RdmaDevice device;
  device.hca_type = {std::string("MT4099"), "sysfs"};
  RdmaPort port = port_of(40, "", "Ethernet");
  EXPECT_EQ(path_mtu_of(device, port), 2048);
  port.active_mtu = {1024, "verbs"};
  EXPECT_EQ(path_mtu_of(device, port), 1024);
  port = port_of(56, "", "InfiniBand");  // there the subnet manager's word counts
  EXPECT_EQ(path_mtu_of(device, port), 4096);
  device.hca_type = {std::string("MT4115"), "sysfs"};
  EXPECT_EQ(path_mtu_of(device, port_of(100, "", "Ethernet")), 4096);
  device.hca_type = {};
  EXPECT_EQ(path_mtu_of(device, port_of(100, "", "Ethernet")), 4096);
}

}  // namespace
}  // namespace railbed
