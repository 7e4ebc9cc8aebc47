#include "facts/pcie.h"

#include <gtest/gtest.h>

#include "facts/pci_config.h"
#include "host/tree.h"

namespace railbed {
namespace {

void put(std::string& config, std::size_t at, std::initializer_list<unsigned> bytes) {
  for (const unsigned byte : bytes) config[at++] = static_cast<char>(byte);
}

// A function with PCI Express (MaxReadReq 512, relaxed ordering on) behind a first capability, and with ACS
// (control 0x1d) behind AER.
std::string sample_config() {
  std::string config(4096, '\0');
  put(config, 0x06, {0x10, 0x00});
  put(config, 0x34, {0x48});
  put(config, 0x48, {0x05, 0x60});
  put(config, 0x60, {0x10, 0x00});
  put(config, 0x68, {0x10, 0x20});
  put(config, 0x100, {0x01, 0x00, 0x02, 0x20});  // next 0x200
  put(config, 0x200, {0x0d, 0x00, 0x01, 0x00, 0, 0, 0x1d, 0x00});
  return config;
}

TEST(PciConfig, WalksTheLists) {
  const std::string config = sample_config();
  EXPECT_EQ(find_capability(config, 0x10), 0x60u);
  EXPECT_FALSE(find_capability(config, 0x11));
  EXPECT_EQ(find_extended_capability(config, 0x0d), 0x200u);
  EXPECT_FALSE(find_extended_capability(config, 0x0f));
}

TEST(PciConfig, EndsInRingsAndShortReads) {
  std::string ring = sample_config();
  put(ring, 0x61, {0x48});         // back to the first capability
  put(ring, 0x202, {0x01, 0x10});  // back to 0x100
  EXPECT_FALSE(find_capability(ring, 0x11));
  EXPECT_FALSE(find_extended_capability(ring, 0x0f));
  for (std::size_t size = 0; size < 0x210; ++size) {
    const std::string cut = sample_config().substr(0, size);
    const auto express = find_capability(cut, 0x10);
    EXPECT_EQ(express.has_value(), size > 0x60) << size;
    EXPECT_EQ(find_extended_capability(cut, 0x0d).has_value(), size >= 0x204) << size;
  }
  EXPECT_FALSE(find_extended_capability(std::string(4096, '\xff'), 0x0d));
  EXPECT_FALSE(find_capability(std::string(256, '\xff'), 0x10));
}

std::unique_ptr<Host> machine_with_config(const std::string& config) {
  Tree tree;
  const std::string root = "/sys/devices/pci0000:00/0000:00:02.0";
  const std::string port = root + "/0000:01:00.0";
  const auto text = [&](const std::string& path, const std::string& content) {
    EXPECT_TRUE(tree.set(path, {TreeEntry::Kind::kFile, content, 0}));
  };
  for (const auto& folder : {root, port}) text(folder + "/class", "0x060400\n");
  text(port + "/0000:02:00.0/class", "0x020000\n");
  text(port + "/0000:02:00.0/vendor", "0x15b3\n");
  text(port + "/0000:02:00.0/current_link_speed", "8.0 GT/s PCIe\n");
  text(port + "/0000:02:00.0/current_link_width", "8\n");
  text(port + "/0000:02:00.0/max_link_speed", "Unknown\n");
  text(port + "/0000:02:00.0/max_link_width", "63\n");
  text(port + "/0000:02:00.0/numa_node", "-1\n");
  for (const auto& folder : {root, port, port + "/0000:02:00.0"}) text(folder + "/config", config);
  text(port + "/current_link_speed", "8.0 GT/s PCIe\n");
  text("/sys/devices/pci0000:00/0000:00:1f.0/class", "0x060100\n");
  const std::pair<std::string, std::string> devices[] = {
      {"0000:00:02.0", root},
      {"0000:01:00.0", port},
      {"0000:02:00.0", port + "/0000:02:00.0"},
      {"0000:00:1f.0", "/sys/devices/pci0000:00/0000:00:1f.0"}};
  for (const auto& [address, path] : devices)
    EXPECT_TRUE(tree.set("/sys/bus/pci/devices/" + address, {TreeEntry::Kind::kLink, path, 0}));
  return open_tree(std::move(tree));
}

TEST(CollectPcie, TakesWhatMattersAndTheBridgesAboveIt) {
  const auto host = machine_with_config(sample_config());
  const auto devices = collect_pcie(*host);
  ASSERT_EQ(devices->size(), 3u);
  const PciDevice* nic = find_pci(*devices, "0000:02:00.0");
  ASSERT_NE(nic, nullptr);
  EXPECT_EQ(*nic->link_now, (PcieLink{8.0, 8}));
  EXPECT_EQ(nic->link_max.miss().missing, Missing::kUnsupported);
  EXPECT_EQ(*nic->numa_node, -1);
  EXPECT_EQ(nic->acs_control.miss().why, "only bridges redirect");
  EXPECT_EQ(*find_pci(*devices, "0000:01:00.0")->acs_control, 0x1d);
  EXPECT_TRUE(find_pci(*devices, "0000:00:02.0")->acs_control.absent())
      << "without a link it is no PCI Express";
  EXPECT_EQ(*nic->max_read_request, 512);
  EXPECT_TRUE(*nic->relaxed_ordering);
  EXPECT_FALSE(*nic->virtual_function);
  EXPECT_TRUE(nic->iommu_type.absent());
  std::vector<std::string> path;
  for (const auto* hop : path_to_root(*devices, *nic)) path.push_back(hop->address);
  EXPECT_EQ(path, (std::vector<std::string>{"0000:02:00.0", "0000:01:00.0", "0000:00:02.0"}));
  EXPECT_TRUE(is_bridge(*find_pci(*devices, "0000:00:02.0")));
  EXPECT_TRUE(is_network(*nic));
  EXPECT_FALSE(is_gpu(*nic));
}

TEST(CollectPcie, SaysThatOnlyRootSeesTheRegisters) {
  const auto host = machine_with_config(sample_config().substr(0, 64));
  const auto devices = collect_pcie(*host);
  const PciDevice* nic = find_pci(*devices, "0000:02:00.0");
  EXPECT_EQ(nic->acs_control.miss().missing, Missing::kDenied);
  EXPECT_EQ(nic->max_read_request.miss().missing, Missing::kDenied);
}

TEST(PathToRoot, EndsInARingOfParents) {
  std::vector<PciDevice> devices(2);
  devices[0].address = "a";
  devices[0].parent = {"b", ""};
  devices[1].address = "b";
  devices[1].parent = {"a", ""};
  EXPECT_LE(path_to_root(devices, devices[0]).size(), 3u);
}

TEST(LastPciAddress, FindsTheFunctionAPathBelongsTo) {
  EXPECT_EQ(last_pci_address("/sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/net/ens6"), "0000:02:00.0");
  EXPECT_EQ(last_pci_address("/sys/devices/pci10000:00/10000:00:01.0"), "10000:00:01.0");
  EXPECT_EQ(last_pci_address("/sys/devices/virtual/net/lo"), "");
}

// The kernel's files of AER, today and of 4.19 to 5.x, whose names have spaces.
TEST(Pcie, ErrorsAreTotalsAndTheNamesThatWereCounted) {
  Tree tree;
  const std::string device = "/sys/bus/pci/devices/0000:02:00.0/aer_dev_";
  const auto text = [&](const std::string& name, const std::string& content) {
    EXPECT_TRUE(tree.set(device + name, {TreeEntry::Kind::kFile, content, 0}));
  };
  text("correctable", "Receiver Error 2\nBad TLP 0\nTOTAL_ERR_COR 2\n");
  text("nonfatal", "Undefined 0\nDLP 0\nCmpltTO 3\nUnsupReq 1\nTOTAL_ERR_NONFATAL 4\n");
  text("fatal", "DLP 0\nTOTAL_ERR_FATAL 0\nno number\nCmpltTO -1\n");
  const auto host = open_tree(tree);
  EXPECT_EQ(pcie_errors(*host, "0000:02:00.0"),
            (std::map<std::string, std::uint64_t>{{"correctable", 2},
                                                  {"correctable Receiver Error", 2},
                                                  {"fatal", 0},
                                                  {"nonfatal", 4},
                                                  {"nonfatal CmpltTO", 3},
                                                  {"nonfatal UnsupReq", 1}}));
  EXPECT_TRUE(pcie_errors(*host, "0000:03:00.0").empty());
}

}  // namespace
}  // namespace railbed
