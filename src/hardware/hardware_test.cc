#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "facts/pcie.h"
#include "hardware/gpu_model.h"
#include "hardware/nic.h"

namespace railbed {
namespace {

TEST(NicTable, EachDeviceStandsOnceAndNoPortOutrunsItsSlotTwice) {
  std::set<std::uint16_t> devices;
  for (const NicModel& nic : nic_models()) {
    EXPECT_TRUE(devices.insert(nic.device).second) << nic.name;
    const double slot = nic.pcie_gigatransfers * nic.pcie_width;  // Gb/s before encoding
    EXPECT_LE(nic.ethernet.gigabits(), slot) << nic.name;
    EXPECT_LE(nic.infiniband.gigabits(), slot) << nic.name;
    EXPECT_GT(std::max(nic.ethernet, nic.infiniband).gigabits(), slot / 10) << nic.name;
    EXPECT_FALSE(nic.source.empty()) << nic.name;
  }
}

TEST(NicTable, FindsByDeviceId) {
  ASSERT_NE(find_nic(0x1007), nullptr);
  EXPECT_EQ(find_nic(0x1007)->name, "ConnectX-3 Pro");
  EXPECT_TRUE(find_nic(0x1007)->connected_ipoib);
  EXPECT_FALSE(find_nic(0x1013)->connected_ipoib);
  EXPECT_EQ(find_nic(0xffff), nullptr);
}

TEST(NicTable, AVirtualFunctionIsOfItsParentsKind) {
  const std::pair<std::uint16_t, std::string_view> kVirtual[] = {
      {0x1004, "ConnectX-3"},    {0x1014, "ConnectX-4"}, {0x1016, "ConnectX-4 Lx"}, {0x1018, "ConnectX-5"},
      {0x101a, "ConnectX-5 Ex"}, {0x101c, "ConnectX-6"}, {0xa2d3, "BlueField"}};
  for (const auto& [id, name] : kVirtual) {
    ASSERT_NE(find_nic(id), nullptr) << name;
    EXPECT_EQ(find_nic(id)->name, name);
  }
  // One ID stands for the virtual functions of every newer model; the physical function tells which.
  EXPECT_EQ(find_nic(0x101e)->name, "ConnectX virtual function");
  EXPECT_EQ(find_nic(0x101e)->module, "mlx5_core");
  PciDevice parent, child;
  parent.address = "0000:19:00.0";
  child.address = "0000:19:00.2";
  parent.vendor = child.vendor = {kVendorMellanox, ""};
  parent.device = {0x1021, ""};
  child.device = {0x101e, ""};
  EXPECT_TRUE(is_virtual_function(child));
  EXPECT_FALSE(is_virtual_function(parent));
  EXPECT_EQ(find_nic(child, {parent, child})->name, "ConnectX virtual function");
  child.physical_function = {"0000:19:00.0", ""};
  EXPECT_EQ(find_nic(child, {parent, child})->name, "ConnectX-7");
}

TEST(GpuTable, OnlyDesktopBoardsSurelyHaveAFan) {
  for (const char* product : {"NVIDIA GeForce RTX 4090", "GeForce GTX 1080 Ti", "NVIDIA TITAN RTX"})
    EXPECT_TRUE(has_own_fan(product)) << product;
  for (const char* product :
       {"", "NVIDIA A10", "NVIDIA A2", "Tesla T4", "NVIDIA RTX A6000", "Quadro RTX 8000",
        "NVIDIA GeForce RTX 4060 Laptop GPU", "NVIDIA GeForce RTX 2080 Super with Max-Q Design"})
    EXPECT_FALSE(has_own_fan(product)) << product;
}

TEST(GpuTable, TheLongestNameWins) {
  ASSERT_NE(find_gpu_model("NVIDIA H100 80GB HBM3"), nullptr);
  EXPECT_TRUE(find_gpu_model("NVIDIA H100 80GB HBM3")->nvswitch);
  EXPECT_FALSE(find_gpu_model("NVIDIA H100 PCIe")->nvswitch);
  EXPECT_FALSE(find_gpu_model("NVIDIA H200 NVL")->nvswitch);
  EXPECT_EQ(find_gpu_model("NVIDIA GeForce RTX 4090")->gpudirect, GpuDirect::kNone);
  EXPECT_EQ(find_gpu_model("Tesla V100-PCIE-16GB")->gpudirect, GpuDirect::kPeerMemory);
  EXPECT_TRUE(find_gpu_model("NVIDIA GH200 480GB")->c2c) << "it is no H200";
  EXPECT_EQ(find_gpu_model("Matrox G200"), nullptr);
  EXPECT_EQ(find_gpu_model("NVIDIA RTX A1000"), nullptr) << "it is no A100";
  EXPECT_EQ(find_gpu_model("Tesla P40")->name, "P40");
  EXPECT_EQ(find_gpu_model("NVIDIA L40S")->name, "L40S");
  EXPECT_EQ(find_gpu_model("NVIDIA A100-SXM4-80GB")->name, "A100-SXM4");
  EXPECT_EQ(find_gpu_model("GA100 [A100 PCIe 40GB]")->name, "A100");
}

}  // namespace
}  // namespace railbed
