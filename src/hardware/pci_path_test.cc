#include "hardware/pci_path.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

PciDevice device(std::string address, std::string parent, int numa) {
  PciDevice device;
  device.address = std::move(address);
  if (!parent.empty()) device.parent = Reading<std::string>(parent, "test");
  device.numa_node = Reading<int>(numa, "test");
  return device;
}

TEST(PciPath, Classes) {
  const std::vector<PciDevice> devices = {
      device("0000:00:01.0", "", 0),              // root port
      device("0000:01:00.0", "0000:00:01.0", 0),  // switch, upstream
      device("0000:02:00.0", "0000:01:00.0", 0),  // downstream
      device("0000:02:01.0", "0000:01:00.0", 0),
      device("0000:03:00.0", "0000:02:00.0", 0),  // GPU
      device("0000:04:00.0", "0000:02:01.0", 0),  // NIC of the same switch
      device("0000:02:02.0", "0000:01:00.0", 0),  // downstream to a second switch
      device("0000:05:00.0", "0000:02:02.0", 0),
      device("0000:06:00.0", "0000:05:00.0", 0),
      device("0000:07:00.0", "0000:06:00.0", 0),  // NIC behind two switches
      device("0000:00:02.0", "", 0),
      device("0000:08:00.0", "0000:00:02.0", 0),  // NIC at another root port
      device("0000:08:00.1", "0000:00:02.0", 0),
      device("0000:20:01.0", "", 0),
      device("0000:21:00.0", "0000:20:01.0", 0),  // other host bridge, same node
      device("0000:80:01.0", "", 1),
      device("0000:81:00.0", "0000:80:01.0", 1),  // other node
  };
  const auto between = [&](std::string_view a, std::string_view b) {
    return to_text(path_between(devices, *find_pci(devices, a), *find_pci(devices, b)));
  };
  EXPECT_EQ(between("0000:03:00.0", "0000:04:00.0"), "PIX");
  EXPECT_EQ(between("0000:03:00.0", "0000:07:00.0"), "PXB");
  EXPECT_EQ(between("0000:03:00.0", "0000:08:00.0"), "PHB");
  EXPECT_EQ(between("0000:03:00.0", "0000:21:00.0"), "NODE");
  EXPECT_EQ(between("0000:03:00.0", "0000:81:00.0"), "SYS");
  EXPECT_EQ(between("0000:08:00.0", "0000:08:00.1"), "PIX");
  const auto bridges = [&](std::string_view a, std::string_view b) {
    std::vector<std::string> addresses;
    for (const PciDevice* device : bridges_between(devices, *find_pci(devices, a), *find_pci(devices, b)))
      addresses.push_back(device->address);
    return addresses;
  };
  EXPECT_EQ(bridges("0000:03:00.0", "0000:04:00.0"),
            (std::vector<std::string>{"0000:02:00.0", "0000:02:01.0"}));
  EXPECT_EQ(bridges("0000:03:00.0", "0000:08:00.0"), std::vector<std::string>{}) << "through the processor";
}

TEST(PciPath, AcsRedirects) {
  PciDevice bridge = device("0000:02:00.0", "", 0);
  EXPECT_FALSE(redirects_peers(bridge));
  bridge.acs_control = Reading<std::uint16_t>(0x02, "test");  // translation blocking alone
  EXPECT_FALSE(redirects_peers(bridge));
  bridge.acs_control = Reading<std::uint16_t>(0x04, "test");
  EXPECT_TRUE(redirects_peers(bridge));
}

}  // namespace
}  // namespace railbed
